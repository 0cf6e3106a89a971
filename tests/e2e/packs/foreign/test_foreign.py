"""From an empty cluster and a registry with TLS and a password to a virtual machine, and back, with helm and kubectl.

The operator is installed from an earlier commit and upgraded. The tests depend on each other, in this order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from foreign import earlier
from foreign.site import OPERATOR, PLACE, PROVISIONER, VERSION, Site, site
from full import FULL, FullCloud
from harness import ROOT, Cloud, eventually
from traffic.pinger import Pinger

from stackwright.local.image.images import titles
from stackwright.local.steps.openstack import demo

SENT = {"POST", "PATCH", "PUT"}
LABELS = ("openstack-control-plane", "openstack-compute-node", "openvswitch", "openstack-gateway")
EARLIER = "0.0.1"  # version of the earlier chart in the registry, instead of the one in its files


@pytest.fixture(scope="module")
def place(bare_cluster: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(bare_cluster, tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture(scope="module")
def before(place: Site) -> set[str]:
    return place.objects()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the earlier commit; of the current one in a shallow clone."""
    return earlier.tree(tmp_path_factory.mktemp("earlier")) or ROOT


def operator_image(cloud: Cloud) -> str:
    return str(json.loads(cloud.stackwright("version", "-o", "json"))["operator"]["image"])


def test_a_second_push_transfers_nothing(place: Site, tree: Path) -> None:
    print(place.push(tree=tree))
    assert {method for method, _, _ in place.registry.requests()} >= SENT
    place.rename_chart(VERSION, EARLIER)
    print(place.push())
    place.registry.requests()
    print(place.push())
    requests = place.registry.requests()
    assert requests and not {method for method, _, _ in requests} & SENT


def test_the_operator_is_installed_from_its_chart_with_only_a_values_file(place: Site, before: set[str]) -> None:
    assert not any(OPERATOR in name for name in before), "the cluster has nothing of Stackwright"
    place.install(EARLIER)
    assert operator_image(place.cloud).startswith(f"{place.prefix}/operator:")


def test_doctor_names_the_labels_that_the_guide_sets(place: Site) -> None:
    """The local cluster labels its nodes; another one does not."""
    check = ("doctor", "-f", FULL, "--images", place.prefix, "--nodes")
    nodes = [node["metadata"]["name"] for node in place.cloud.get("nodes")["items"]]
    place.cloud.kubectl("label", "node", *nodes, *(f"{name}-" for name in LABELS))
    text = place.stackwright(*check, code=1)
    assert all(name in text for name in LABELS)
    place.cloud.kubectl("label", "node", *nodes, *(f"{name}=enabled" for name in LABELS))
    print(place.stackwright(*check))


def test_kubectl_apply_creates_a_cloud_whose_machine_answers(place: Site, tree: Path) -> None:
    place.create(tree)


def pods(cloud: FullCloud) -> dict[str, set[str]]:
    """Workload → uids of its pods."""
    labels = {
        uid: {f"{key}={value}" for key, value in pod["metadata"]["labels"].items()} for uid, pod in cloud.pods().items()
    }
    selectors = {str(each): {*each.selector.split(",")} for each in cloud.workloads()}
    return {name: {uid for uid in labels if wanted <= labels[uid]} for name, wanted in selectors.items()}


def test_an_upgrade_of_the_operator_restarts_only_what_plan_names(place: Site, tree: Path) -> None:
    if tree == ROOT:
        pytest.skip(f"The clone is shallow and lacks the commit {earlier.COMMIT}, whose operator would be upgraded")
    cloud = FullCloud("")
    former, before, address = operator_image(cloud), pods(cloud), cloud.demo_address
    note, begin, text = cloud.stackwright("plan", "-o", "json", code=None).partition("{")
    assert "the operator has others" in note
    steps = json.loads(begin + text)["changes"]
    planned = {f"{step['kind'].lower()}/{step['name']}" for step in steps if step["verb"] == "restart"}
    with Pinger(address) as pinger:
        place.helm("upgrade", OPERATOR, place.chart, "--version", VERSION, *place.ca_option, *PLACE)
        eventually(lambda: "No changes" in cloud.stackwright("plan", code=None), limit=600, pause=5)
        cloud.wait_ready()
    after = pods(cloud)
    restarted = {name for name in before if before[name] != after.get(name)}
    print(f"plan: {len(steps)} steps, restarts {sorted(planned)}; restarted {sorted(restarted)}")
    print(f"longest gap of pings {pinger.gap():.1f} s")
    listed = json.loads(place.helm("list", "--namespace", OPERATOR, "--output", "json"))
    assert [(each["chart"], each["status"]) for each in listed] == [(f"stackwright-{VERSION}", "deployed")]
    assert operator_image(cloud) == f"{place.prefix}/{titles()['operator']}"
    assert operator_image(cloud) != former
    assert len(set[str]().union(*before.values())) > 20
    assert after.keys() == before.keys()
    assert restarted <= planned
    eventually(lambda: demo.greets(address), limit=60)
    words = ("diff", "--server-side", "--force-conflicts", "--filename", "-")
    assert cloud.kubectl(*words, stdin=cloud.stackwright("crds")) == "", "the kinds are those of this version"


def test_the_commands_of_the_guide_accept_the_running_cloud(place: Site, tree: Path) -> None:
    cloud, file = place.cloud, str(ROOT / FULL)
    assert cloud.stackwright("apply", "-f", file, "--wait", "--yes", limit=660)
    assert "No changes" in cloud.stackwright("plan", "-f", file)
    print(place.stackwright("images", "verify", place.prefix, "-f", file))
    print(cloud.stackwright("smoke", "--kubeconfig", str(cloud.cluster.kubeconfig), limit=400))


def test_after_the_removal_nothing_is_left(place: Site, before: set[str]) -> None:
    cloud = place.cloud
    cloud.empty()  # virtual machines outlive their cloud
    cloud.stackwright("delete", "cloud", "--yes", limit=630)
    cloud.wait_gone(cloud.namespace)
    eventually(lambda: cloud.get("pv")["items"] == [], limit=60)
    place.helm("uninstall", OPERATOR, "--namespace", OPERATOR, "--wait")
    place.helm("uninstall", PROVISIONER, "--namespace", "kube-system", "--wait")
    cloud.kubectl("delete", "secret", "registry", "-n", "kube-system")
    kinds = cloud.stackwright("crds")
    cloud.kubectl("delete", "--ignore-not-found", "--filename", "-", stdin=kinds, limit=300)
    cloud.kubectl("delete", "namespace", cloud.namespace, OPERATOR, limit=300)

    def gone() -> bool:
        assert place.objects() - before == set()
        return True

    eventually(gone, limit=60, pause=2)
