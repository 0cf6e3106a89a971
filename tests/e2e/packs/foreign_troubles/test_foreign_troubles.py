"""Faults of an existing cluster: the condition or the line of doctor that names a missing or wrong resource.

The operator is limited to some namespaces. The tests depend on each other, in this order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from foreign.site import OPERATOR, VERSION, Site, site
from harness import SMALL, Cloud, eventually

from stackwright.local.config import MACHINE_ADDRESS
from stackwright.local.image.images import titles
from support.infra_specs import SERVER
from support.registry.memory import PASSWORD

CACHE = "examples/memcached-only.yaml"  # a cloud with one release
SPACE = "memcached-only"
CLOSED, DENIED, MISSING = PULLS = ("closed", "denied", "missing")
MANAGED = (SPACE, *PULLS)
FOREIGN = "openstack"
LABEL = "openstack-control-plane"
WRONG = "wrong"


@pytest.fixture(scope="module")
def place(bare_cluster: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(bare_cluster, tmp_path_factory.mktemp("registry")) as made:
        print(made.push("operator", "pause", "memcached", "charts/stackwright"))
        yield made


def doctor(cloud: Cloud, *words: str) -> dict[str, str]:
    """Subject → level and text. The cluster has no StorageClass, which is a problem, too."""
    command = ("doctor", "--kubeconfig", str(cloud.cluster.kubeconfig), "-o", "json", *words)
    found = json.loads(cloud.stackwright(*command, code=1))
    return {each["subject"]: f"{each['level']}: {each['text']}" for each in found}


def ready(cloud: Cloud, kind: str, name: str, namespace: str) -> tuple[str, str]:
    """Reason and message of condition Ready."""
    conditions = cloud.get(kind, name, "-n", namespace).get("status", {}).get("conditions", [])
    return next(((each["reason"], each["message"]) for each in conditions if each["type"] == "Ready"), ("", ""))


def test_helm_refuses_an_old_kubernetes(place: Site) -> None:
    words = ("template", OPERATOR, place.chart, "--version", VERSION, *place.ca_option, "--kube-version=1.31.9")
    assert "chart requires kubeVersion: >=1.32.0" in place.helm(*words, code=1)


def test_doctor_names_why_the_operator_is_not_pulled(place: Site) -> None:
    cloud = place.cloud
    for name in (OPERATOR, *MANAGED, FOREIGN):
        cloud.kubectl("create", "namespace", name)
    place.pull_secret(OPERATOR, WRONG)
    values = place.folder / "values.yaml"
    values.write_text(yaml.safe_dump({"images": {"pull_secrets": [{"name": "registry"}]}, "namespaces": [*MANAGED]}))
    where = ("--version", VERSION, *place.ca_option, "--namespace", OPERATOR, "--values", str(values))
    place.helm("install", OPERATOR, place.chart, *where)

    def told() -> bool:
        lines = [text for subject, text in doctor(cloud).items() if subject.startswith(f"{OPERATOR}/")]
        return any(text.startswith("problem: container operator: RegistryDenied: ") for text in lines)

    eventually(told, limit=60)
    cloud.kubectl("delete", "secret", "registry", "-n", OPERATOR)
    place.pull_secret(OPERATOR)
    cloud.kubectl("delete", "pods", "--all", "-n", OPERATOR)  # sooner than kubelet's next try
    cloud.kubectl("rollout", "status", "deployment", "-n", OPERATOR, "--timeout=2m", limit=130)


def test_doctor_examines_nodes_with_the_pull_secret_of_the_operator(place: Site) -> None:
    assert "No report" not in doctor(place.cloud, "--nodes")["node node1"]


@pytest.mark.parametrize(
    ("namespace", "reason", "text"),
    [
        (CLOSED, "RegistryUnreachable", "the registry does not answer"),
        (DENIED, "RegistryDenied", "the registry denies access; check the pull Secret"),
        (MISSING, "ImageMissing", "the registry does not have it"),
    ],
)
def test_a_release_names_why_its_image_is_not_pulled(place: Site, namespace: str, reason: str, text: str) -> None:
    cloud, good = place.cloud, f"{place.prefix}/{titles()['memcached']}"
    images = {CLOSED: good.replace(place.registry.host, f"{MACHINE_ADDRESS}:1"), MISSING: f"{good}0"}
    image = images.get(namespace, good)
    place.pull_secret(namespace, WRONG if namespace == DENIED else PASSWORD)
    cloud.apply(bundle(namespace, image))
    eventually(lambda: ready(cloud, "helmbundle", "cache", namespace)[0] == reason, limit=60)
    assert f"node node1 cannot pull {image}: {text}" in ready(cloud, "helmbundle", "cache", namespace)[1]
    cloud.kubectl("delete", "helmbundle", "cache", "-n", namespace)
    cloud.wait_gone(namespace, "secret/registry")


def bundle(namespace: str, image: str) -> dict[str, Any]:
    values = {"images": {"tags": {"memcached": image}, "pull_secrets": [{"name": "registry"}]}}
    release = {"name": "cache", "chart": "memcached", "values": values}
    return {
        "apiVersion": "lcm.mirantis.com/v1alpha1",
        "kind": "HelmBundle",
        "metadata": {"name": "cache", "namespace": namespace},
        "spec": {"releases": [release]},
    }


def test_a_missing_label_is_named_until_a_node_has_it(place: Site) -> None:
    cloud = place.cloud
    cloud.kubectl("label", "node", "node1", f"{LABEL}-")
    try:
        assert "problem: No node has this label" in doctor(cloud, "--file", CACHE)[f"label {LABEL}=enabled"]
        cloud.kubectl("apply", "--server-side", "--filename", CACHE)
        eventually(lambda: ready(cloud, "osdpl", "cache", SPACE)[0] == "BlockedNoNode", limit=60)
        assert f"kubectl label node NODE {LABEL}=enabled" in ready(cloud, "osdpl", "cache", SPACE)[1]
    finally:
        cloud.kubectl("label", "node", "node1", f"{LABEL}=enabled")
    cloud.wait_ready("cache", SPACE)
    pods = cloud.get("pods", "-n", SPACE)["items"]
    assert pods
    for pod in pods:
        assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
        assert all(each["image"].startswith(place.prefix) for each in pod["spec"]["containers"])


def test_a_limited_operator_is_named_to_users_of_other_namespaces(place: Site) -> None:
    cloud, text = place.cloud, f"The operator does not manage the namespace {FOREIGN}, only {', '.join(MANAGED)}."
    assert text in cloud.stackwright("apply", "--file", SMALL, "--yes", "--wait", code=1)
    assert doctor(cloud)[f"namespace {FOREIGN}"] == f"problem: {text}"
    assert "conditions" not in cloud.osdpl(namespace=FOREIGN)["status"]
    group = "infrastructure.cluster.x-k8s.io/v1alpha1"
    secret = {"secretRef": {"name": "credentials", "namespace": FOREIGN}}
    identity = {"type": "ClusterIdentity", "name": "shared", "cloudName": "x"}
    server = {"name": "vm", "namespace": SPACE}
    cloud.apply(
        {"apiVersion": group, "kind": "OpenStackClusterIdentity", "metadata": {"name": "shared"}, "spec": secret}
    )
    cloud.apply(
        {
            "apiVersion": group,
            "kind": "OpenStackServer",
            "metadata": server,
            "spec": {**SERVER, "identityRef": identity},
        }
    )
    eventually(lambda: ready(cloud, "openstackserver", "vm", SPACE)[0] == "BlockedNamespace", limit=60)
    assert f"does not manage the namespace '{FOREIGN}'" in ready(cloud, "openstackserver", "vm", SPACE)[1]


def test_a_limited_operator_removes_what_it_installed(place: Site) -> None:
    cloud = place.cloud
    cloud.kubectl("delete", "openstackdeployment", "cache", "-n", SPACE, limit=120)
    cloud.wait_gone(SPACE)
