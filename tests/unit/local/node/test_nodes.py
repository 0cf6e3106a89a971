"""Separation of nodes on one machine: their directories, networks, and settings of the machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from stackwright.local import config
from stackwright.local.cluster import leftovers
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups, kernel, network
from stackwright.local.node import namespaces, power
from stackwright.local.node import network as node_network
from stackwright.local.steps.kubernetes import runtimes

CLUSTER = LocalCluster(Path("/var/lib/sw"), Path("/root/cache"), Path("/run/sw"))
ONE, TWO = CLUSTER.nodes(2)


def test_a_program_enters_all_namespaces_of_its_node() -> None:
    assert ONE.enter() == [
        "nsenter",
        "--net=/run/netns/stackwright-node1",
        "--mount=/run/sw/namespaces/node1.mnt",
        "--uts=/run/sw/namespaces/node1.uts",
        "--",
    ]


def test_a_node_has_persistent_folders_and_loses_none_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = LocalCluster(tmp_path / "lib/state", tmp_path / "cache", tmp_path / "run/sw")
    node = cluster.node(2)
    for folder in (cluster.state, cluster.cache, node.run):
        folder.mkdir(parents=True)
    plan = namespaces.plan(cluster, node)
    assert plan["hostname"] == "node2"
    assert plan["own"] == {"/run": "", "/var/lib": f"{node.home}/var/lib", "/var/log": f"{node.home}/var/log"}
    own = {str(tmp_path / "lib"): "", str(tmp_path / "run"): ""}
    assert namespaces._hidden([node.run, cluster.state, cluster.cache], own) == [str(cluster.state), str(node.run)]


def test_the_outer_one_of_two_nested_folders_is_enough(tmp_path: Path) -> None:
    inner = tmp_path / "state" / "cache"
    inner.mkdir(parents=True)
    assert namespaces._hidden([inner, tmp_path / "state"], {str(tmp_path): ""}) == [str(tmp_path / "state")]


def test_two_nodes_share_no_directory() -> None:
    plans = [namespaces.plan(CLUSTER, node) for node in (ONE, TWO)]
    sources = [{path for path in [*p["own"].values(), *p["files"].values()] if path} for p in plans]
    assert not sources[0] & sources[1]


def test_links_have_bridges_of_their_own_and_short_names() -> None:
    last = CLUSTER.node(config.MAX_NODES)
    assert sorted(network.ports(last).values()) == sorted(config.BRIDGES)
    assert all(len(name) <= 15 for name in network.ports(last))
    assert node_network._peer(last, "t") not in network.ports(last)


def test_addresses_of_a_node() -> None:
    commands = node_network.address_commands(TWO)
    assert "address add 10.89.0.12/24 dev eth0" in commands
    assert "address add 10.90.0.12/24 dev tunnel0" in commands
    assert "dev ext0" not in commands, "its addresses are the cloud's"
    assert "default via 10.89.0.2" in commands, "the router, not the machine"


def test_only_the_first_node_routes_to_services() -> None:
    assert config.SERVICE_NETWORK in network.route_commands(ONE, "any")
    assert config.SERVICE_NETWORK not in network.route_commands(TWO, "any")


def test_a_virtual_machine_reaches_the_ingress_and_responds_but_opens_no_other_connection() -> None:
    """On a real network: tests/e2e/packs/firewall."""
    for chain, begun in {
        "forward": "ip daddr 10.89.0.0/24 ip daddr != 10.89.0.1 tcp dport { 80, 443 } accept",
        "input": "icmp type echo-request accept",
    }.items():
        rules = [line.strip() for line in network.ROUTER_RULES[chain].splitlines()]
        assert rules[-4:] == ['iifname != "sw-ext0" accept', "ct state established,related accept", begun, "drop"]


def test_an_existing_bridge_is_not_recreated() -> None:
    assert "link add sw-br0 " in network.router_commands([])
    assert "link add sw-br0 " not in network.router_commands(["sw-br0"])


def test_no_setting_of_the_network_is_among_those_of_the_machine() -> None:
    assert not [name for name in kernel.AT_LEAST if name.startswith("net")]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kernel, "SETTINGS", tmp_path)
    boot = tmp_path / "boot_id"
    boot.write_text("first")
    monkeypatch.setattr(kernel, "BOOT", boot)
    values = {"fs/inotify/max_user_instances": 128, "fs/inotify/max_user_watches": 1000000}
    for name, value in values.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    return tmp_path


def test_settings_are_restored_after_any_number_of_changes(settings: Path, tmp_path: Path) -> None:
    cluster = LocalCluster(tmp_path, tmp_path, tmp_path / "run" / "sw")
    kernel.ensure(cluster)
    kernel.ensure(cluster)
    assert not kernel.too_small()
    assert (settings / "fs/inotify/max_user_instances").read_text() == "2048"
    assert int((settings / "fs/inotify/max_user_watches").read_text()) == 1000000, "never made less"
    kernel.restore(cluster)
    assert (settings / "fs/inotify/max_user_instances").read_text() == "128"
    assert not cluster.kernel_memory.exists()


def test_settings_that_others_changed_are_not_restored(settings: Path, tmp_path: Path) -> None:
    cluster = LocalCluster(tmp_path, tmp_path, tmp_path / "run" / "sw")
    kernel.ensure(cluster)
    (settings / "fs/inotify/max_user_instances").write_text("4096")
    kernel.restore(cluster)
    assert (settings / "fs/inotify/max_user_instances").read_text() == "4096"


@pytest.mark.parametrize("act", [kernel.ensure, kernel.restore])
def test_settings_that_an_older_version_changed_are_restored(
    settings: Path, tmp_path: Path, act: Callable[[LocalCluster], None]
) -> None:
    cluster = LocalCluster(tmp_path, tmp_path, tmp_path / "run" / "sw")
    (settings / "net").mkdir()
    (settings / "net/forward").write_text("1")
    cluster.kernel_memory.parent.mkdir(parents=True)
    cluster.kernel_memory.write_text(json.dumps({"boot": "first", "before": {"net/forward": 0}}))
    act(cluster)
    assert (settings / "net/forward").read_text() == "0"
    (settings / "net/forward").write_text("1")
    kernel.restore(cluster)
    assert (settings / "net/forward").read_text() == "1", "what others changed since is theirs"


def test_settings_of_another_boot_are_not_restored(settings: Path, tmp_path: Path) -> None:
    cluster = LocalCluster(tmp_path, tmp_path, tmp_path / "run" / "sw")
    kernel.ensure(cluster)
    (settings / "boot_id").write_text("second")
    kernel.restore(cluster)
    assert (settings / "fs/inotify/max_user_instances").read_text() == "2048"


def test_a_node_is_on_when_something_lives_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "ready", lambda node: True)
    monkeypatch.setattr(node_network, "exists", lambda node: True)
    monkeypatch.setattr(cgroups, "processes", lambda group: {1} if group == "stackwright/node1" else set())
    assert power.is_on(ONE)
    assert not power.is_on(TWO)


def test_a_container_is_known_by_a_process_in_its_group_or_below_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cgroups, "hierarchies", lambda: (tmp_path / "cpu", tmp_path / "pids"))
    pods = tmp_path / "pids" / ONE.cgroup / "kubepods"
    for path, members in (("p1/alive", "7\n"), ("p1/dead", ""), ("p2/nested/init", "8\n9\n"), ("p3/gone", None)):
        (pods / path).mkdir(parents=True)
        if members is not None:
            (pods / path / "cgroup.procs").write_text(members)
    assert cgroups.names(ONE.cgroup) == {"kubepods", "p1", "alive", "p2", "nested", "init"}
    assert cgroups.names(TWO.cgroup) == set()


def test_routes_of_ours_are_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    table = "Iface\tDestination\nsw-machine\t000418AC\t0\nsw-machine\t0000590A\t0\neth0\t00000000\t0\n"
    monkeypatch.setattr(Path, "read_text", lambda self: table)
    assert sorted(leftovers._routes()) == ["10.89", "172.24.4"]


def test_the_plan_can_be_passed_to_a_program() -> None:
    assert json.loads(json.dumps(namespaces.plan(CLUSTER, ONE))) == namespaces.plan(CLUSTER, ONE)


def test_existing_configuration_is_not_rewritten(tmp_path: Path) -> None:
    file = tmp_path / "nodes" / "node1" / "kube-proxy.yaml"
    runtimes.write({file: "a"})
    before = file.stat().st_mtime_ns
    runtimes.write({file: "a"})
    assert file.stat().st_mtime_ns == before
    runtimes.write({file: "b"})
    assert file.read_text() == "b"
