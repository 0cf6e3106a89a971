"""What all pods of all charts have: the pull Secrets, which the chart of the operator tells it, and options of the DNS.

`UPDATE_GOLDEN=1 pytest tests/golden/test_charts_pods.py` rewrites the golden files; read the difference first.
"""

import json
import os

import pytest
import yaml

from stackwright.core.kubernetes import precache
from stackwright.core.settings import Settings, pulls
from support.paths import ROOT
from tests.golden.test_charts import CASES, CHARTS, helm

REGISTRY = ("--set", "images.pull_secrets[0].name=registry")
FIRST = {case.parent.parent.name: case for case in reversed(CASES)}
CLOUD = {
    "apiVersion": "lcm.mirantis.com/v1alpha1",
    "kind": "OpenStackDeployment",
    "metadata": {"name": "cloud", "namespace": "openstack", "uid": "u"},
}
IMAGES = ("example.org/keystone:1", "example.org/ingress:1")
TOLERATIONS = [{"key": "maintenance", "operator": "Exists"}]


def rendered(chart, *more):
    path = next(each for each in CHARTS if each.name == chart)
    text = helm("template", "release", str(path), "--namespace", "openstack", "-f", str(FIRST[chart]), *more).stdout
    return [each for each in yaml.safe_load_all(text) if each]


def pods(objects):
    for each in objects:
        spec = each.get("spec") or {}
        spec = (spec.get("jobTemplate") or {}).get("spec") or spec
        if "template" in spec and "containers" in (spec["template"].get("spec") or {}):
            yield f"{each['kind']} {each['metadata']['name']}", spec["template"]["spec"]


@pytest.mark.parametrize("chart", sorted(FIRST))
def test_all_pods_of_a_chart_name_the_pull_secrets(chart):
    found = dict(pods(rendered(chart, *REGISTRY)))
    assert found
    assert [name for name, pod in found.items() if pod.get("imagePullSecrets") != [{"name": "registry"}]] == []


@pytest.mark.parametrize("chart", sorted(set(FIRST) - {"stackwright"}))
def test_a_lookup_waits_for_a_lost_pod_of_the_dns_for_a_moment_only(chart):
    """Two attempts of 5 s, by default, go to the same pod, for each domain of the search list."""
    wanted = {"options": [{"name": "timeout", "value": "2"}]}
    assert [name for name, pod in pods(rendered(chart)) if pod.get("dnsConfig") != wanted] == []


@pytest.mark.parametrize("egress", [{"engine": []}, {}])
def test_an_empty_list_of_egress_rules_permits_no_connection(egress):
    words = ("--set-json", 'network.policies={"engine": []}', "--set-json", f"network.egress={json.dumps(egress)}")
    (policy,) = (each["spec"] for each in rendered("heat", *words) if each["kind"] == "NetworkPolicy")
    assert policy["policyTypes"] == (["Ingress", "Egress"] if egress else ["Ingress"])
    assert policy.get("egress") == egress.get("engine")


def test_the_operator_knows_the_names_of_the_pull_secrets():
    def files(*more):
        (found,) = [each for each in rendered("stackwright", *more) if each["kind"] == "ConfigMap"]
        return found["data"]

    assert "pulls.json" not in files()
    assert json.loads(files(*REGISTRY)["pulls.json"]) == {"secrets": [{"name": "registry"}]}


@pytest.mark.parametrize("name", ["Registry", "ghcr.io/registry", "a..", ""])
def test_a_name_that_no_secret_can_have_is_refused(name):
    """The operator could read no such Secret, so every cloud would wait."""
    value = f'images.pull_secrets=[{{"name": "{name}"}}]'
    done = helm(
        "template",
        "stackwright",
        str(ROOT / "charts/stackwright"),
        "--set=images.tags.stackwright=x",
        "--set-json",
        value,
    )
    assert done.returncode != 0 and "/images/pull_secrets/0/name" in done.stderr


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, None),
        ({"volumes": "true"}, None),
        ({"volumes": "false"}, "init"),
        ({"mount_volumes": "false"}, "unmounted"),
        ({"volumes": "false", "mount_volumes": "false"}, "init"),
    ],
)
def test_the_operator_knows_how_to_pull_images_ahead(values, expected):
    more = [word for name, value in values.items() for word in ("--set", f"images.{name}={value}")]
    (found,) = [each for each in rendered("stackwright", *more) if each["kind"] == "ConfigMap"]
    text = found["data"].get("pulls.json")
    assert (json.loads(text) if text else None) == ({"precaching": expected} if expected else None)
    assert Settings(**pulls(text or "")).precaching == (expected or "mounted")


@pytest.mark.parametrize("how", [precache.MOUNTED, precache.UNMOUNTED, precache.INIT])
def test_the_daemonset_that_pulls_images_ahead_is_as_the_golden_file(how):
    idle = {"example.org/ingress:1": ("/ingress", "-h"), "example.org/other:1": ("/other",)}
    made = precache.daemonset(CLOUD, IMAGES, "example.org/pause:1", TOLERATIONS, ["registry"], how, idle)
    golden = ROOT / f"tests/golden/precaching/{how}.yaml"
    text = yaml.safe_dump(json.loads(json.dumps(made)))  # without anchors
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()
