"""From an empty cluster and a registry with TLS and a password to a virtual machine, and back, with helm and kubectl.

The tests depend on each other, in this order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml
from foreign.site import OPERATOR, Site, site
from full import FULL
from harness import ROOT, Cloud, eventually

from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import hosts

VALUES = {"images": {"pull_secrets": [{"name": "registry"}]}}
SENT = {"POST", "PATCH", "PUT"}
VERSION = yaml.safe_load((ROOT / "charts/stackwright/Chart.yaml").read_text())["version"]
NEXT = "0.99.0"
PLACE = ("--namespace", OPERATOR, "--wait", "--timeout", "4m")


@pytest.fixture(scope="module")
def place(bare_cluster: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(bare_cluster, tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture(scope="module")
def before(place: Site) -> set[str]:
    return place.objects()


def test_a_second_push_transfers_nothing(place: Site) -> None:
    print(place.push())
    assert {method for method, _, _ in place.registry.requests()} >= SENT
    print(place.push())
    requests = place.registry.requests()
    assert requests and not {method for method, _, _ in requests} & SENT


def test_the_operator_is_installed_from_its_chart_with_only_a_values_file(place: Site, before: set[str]) -> None:
    assert not any(OPERATOR in name for name in before), "the cluster has nothing of Stackwright"
    values = place.folder / "values.yaml"
    values.write_text(yaml.safe_dump(VALUES))
    place.cloud.kubectl("create", "namespace", OPERATOR)
    for namespace in (OPERATOR, "kube-system"):
        place.pull_secret(namespace)
    volumes = f"oci://{place.prefix}/charts/local-volume-provisioner"
    name = "local-volume-provisioner"
    place.helm("install", name, volumes, *place.login, "-n", "kube-system", "--values", str(values))
    place.helm("install", OPERATOR, place.chart, "--version", VERSION, *place.login, *PLACE, "--values", str(values))
    assert "operator" in place.cloud.stackwright("version")


def test_kubectl_apply_creates_a_cloud_whose_machines_answer(place: Site) -> None:
    cloud = place.cloud
    cloud.kubectl("apply", "--server-side", "--filename", FULL)
    cloud.stackwright("wait", "cloud", "--timeout", "900", limit=930)
    pods = cloud.get("pods", "-n", cloud.namespace)["items"]
    used = {each["image"] for pod in pods for each in pod["spec"]["containers"]}
    assert used and all(image.startswith(f"{place.prefix}/") for image in used), used
    hosts.run(Context(cloud.cluster), print)  # as the administrator's DNS
    print(cloud.stackwright("smoke", limit=600))


def test_an_upgrade_of_the_operator_changes_no_cloud(place: Site) -> None:
    cloud = place.cloud
    pods = {pod["metadata"]["uid"] for pod in cloud.get("pods", "-n", cloud.namespace)["items"]}
    revisions = cloud.revisions()
    place.helm("pull", place.chart, "--version", VERSION, *place.login, "--untar", "-d", str(place.folder / "chart"))
    place.helm("package", str(place.folder / "chart/stackwright"), "--version", NEXT, "-d", str(place.folder))
    place.helm("push", str(place.folder / f"stackwright-{NEXT}.tgz"), f"oci://{place.prefix}/charts", *place.login)
    words = ("--version", NEXT, *place.login, *PLACE, "--reuse-values", "--set", "pod.replicas.operator=2")
    place.helm("upgrade", OPERATOR, place.chart, *words)
    cloud.wait_ready(limit=120)
    listed = json.loads(place.helm("list", "--namespace", OPERATOR, "--output", "json"))
    assert [(each["chart"], each["status"]) for each in listed] == [(f"stackwright-{NEXT}", "deployed")]
    assert {pod["metadata"]["uid"] for pod in cloud.get("pods", "-n", cloud.namespace)["items"]} == pods
    assert cloud.revisions() == revisions
    assert "No changes" in cloud.stackwright("plan", "--file", FULL)


def test_after_the_removal_nothing_is_left(place: Site, before: set[str]) -> None:
    cloud = place.cloud
    cloud.stackwright("delete", "cloud", "--yes", limit=630)
    cloud.wait_gone(cloud.namespace)
    eventually(lambda: cloud.get("pv")["items"] == [], limit=60)
    place.helm("uninstall", OPERATOR, "--namespace", OPERATOR, "--wait")
    place.helm("uninstall", "local-volume-provisioner", "--namespace", "kube-system", "--wait")
    cloud.kubectl("delete", "secret", "registry", "-n", "kube-system")
    kinds = cloud.stackwright("crds")
    cloud.kubectl("delete", "--ignore-not-found", "--filename", "-", stdin=kinds, limit=300)
    cloud.kubectl("delete", "namespace", cloud.namespace, OPERATOR, limit=300)

    def gone() -> bool:
        assert place.objects() - before == set()
        return True

    eventually(gone, limit=60, pause=2)
