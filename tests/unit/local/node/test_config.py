import json
import tomllib
from pathlib import Path
from typing import Any

from stackwright.local.config import LocalCluster
from stackwright.local.node import config as node_config
from stackwright.local.node.config import Machine
from stackwright.local.steps.kubernetes import nodes

CLUSTER = LocalCluster(Path("/s"), Path("/c"))
ONE, TWO = CLUSTER.nodes(2)
PAUSE = "stackwright.local/pause:0123456789ab"
RUNTIME = "io.containerd.cri.v1.runtime"


def containerd(machine: Machine) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = tomllib.loads(node_config.containerd(ONE, PAUSE, machine))["plugins"]
    return found


def test_the_sandbox_image_is_ours_and_never_removed() -> None:
    plugins = containerd(Machine())
    assert plugins["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == PAUSE


def test_registries_are_configured_in_the_usual_folder() -> None:
    registry = containerd(Machine())["io.containerd.cri.v1.images"]["registry"]
    assert registry == {"config_path": "/etc/containerd/certs.d"}


def test_scores_are_restricted_only_where_the_capability_is_missing() -> None:
    assert containerd(Machine(may_raise_limits=False))[RUNTIME]["restrict_oom_score_adj"] is True
    assert containerd(Machine(may_raise_limits=True))[RUNTIME]["restrict_oom_score_adj"] is False


def test_shims_have_a_cgroup_next_to_that_of_containerd() -> None:
    options = containerd(Machine())[RUNTIME]["containerd"]["runtimes"]["runc"]["options"]
    assert options["ShimCgroup"] == "/stackwright/node1/shims"


def test_containerd_does_not_ask_every_shim_each_second() -> None:
    # These samples are not used: kubelet has its figures from cgroups, unless it is configured to use the runtime's.
    assert containerd(Machine())[RUNTIME]["stats_collect_period"] == "1h"
    gates = json.loads(node_config.kubelet(Path("/pki"), ONE, Machine())).get("featureGates", {})
    assert "PodAndContainerStatsFromCRI" not in gates


def test_two_nodes_share_no_path() -> None:
    def places(node: object) -> set[str]:
        parsed = tomllib.loads(node_config.containerd(node, PAUSE, Machine()))  # type: ignore[arg-type]
        return {parsed["root"], parsed["state"], parsed["grpc"]["address"]}

    assert not places(ONE) & places(TWO)


def test_pods_get_addresses_of_their_node() -> None:
    ptp = json.loads(node_config.cni(TWO))["plugins"][0]
    assert ptp["type"] == "ptp"
    assert ptp["ipam"]["ranges"] == [[{"subnet": "10.244.2.0/24"}]]
    assert ptp["ipam"]["dataDir"] == "/s/nodes/node2/ipam"


def test_the_kubelet_runs_on_old_cgroups_and_rejects_anonymous_requests() -> None:
    given = json.loads(node_config.kubelet(Path("/pki"), TWO, Machine()))
    assert given["failCgroupV1"] is False
    assert given["cgroupRoot"] == "/stackwright/node2"
    assert given["authentication"]["anonymous"]["enabled"] is False
    assert given["authorization"]["mode"] == "Webhook"


def test_images_are_never_removed_because_they_cannot_be_pulled() -> None:
    assert json.loads(node_config.kubelet(Path("/pki"), ONE, Machine()))["imageGCHighThresholdPercent"] == 100


def test_all_nodes_share_the_control_plane_of_clouds() -> None:
    names = ("openstack-control-plane", "openstack-compute-node", "openvswitch", "openstack-gateway")
    assert node_config.labels(ONE) == node_config.labels(TWO) == dict.fromkeys(names, "enabled")


def test_kubernetes_shows_the_first_node_as_its_control_plane() -> None:
    roles = [[name for name in nodes.labels(node)["metadata"]["labels"] if "node-role" in name] for node in (ONE, TWO)]
    assert roles == [["node-role.kubernetes.io/control-plane"], ["node-role.kubernetes.io/worker"]]
