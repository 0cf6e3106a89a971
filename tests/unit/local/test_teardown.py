"""`down`, and the removal of a node: what they end, revert and delete. The test cannot reach this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest

from stackwright.local.cluster import teardown
from stackwright.local.commands import LocalError, Report, quiet
from stackwright.local.config import LocalCluster
from stackwright.local.node import removal


class Machine:
    """All that the two modules call, in place of the modules; their calls by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts = MagicMock()
        for module in (teardown, removal):
            for name, found in list(vars(module).items()):
                elsewhere = isinstance(found, FunctionType) and found.__module__ != module.__name__
                foreign = isinstance(found, ModuleType) and found.__name__.startswith("stackwright.") and name != "home"
                if elsewhere or foreign:
                    monkeypatch.setattr(module, name, getattr(self.parts, name))
        self.left: dict[str, list[str]] = {}
        monkeypatch.setattr(teardown, "leftovers", lambda cluster: self.left)
        self.parts.cgroups.kill.return_value = set()
        self.parts.mounts.cluster_mounts.return_value = []
        self.parts.services.names.return_value = []

    def calls(self, name: str) -> list[Any]:
        """The last argument of each call."""
        return [call.args[-1] for call in self.parts.mock_calls if call[0] == name]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


@pytest.fixture
def cluster(tmp_path: Path) -> LocalCluster:
    made = LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run")
    for path in (made.state, made.cache, made.run):
        path.mkdir()
    return made


@contextlib.contextmanager
def phase(title: str) -> Iterator[Report]:
    yield quiet


@pytest.mark.parametrize("purge", [False, True])
@pytest.mark.parametrize("cache", [False, True])
def test_data_and_cache_are_kept_unless_named(
    machine: Machine, cluster: LocalCluster, purge: bool, cache: bool
) -> None:
    teardown.down(cluster, phase, purge=purge, cache=cache)
    assert (cluster.state.exists(), cluster.cache.exists()) == (not purge, not cache)
    assert not cluster.run.exists()


def test_leftovers_and_unkillable_processes_are_reported(machine: Machine, cluster: LocalCluster) -> None:
    machine.left = {"mounts": ["/var/x"]}
    with pytest.raises(LocalError, match="Parts of the cluster remain"):
        teardown.down(cluster, phase)
    machine.parts.cgroups.kill.return_value = {7}
    with pytest.raises(LocalError, match=r"do not end after SIGKILL.*: 7"):
        teardown.down(cluster, phase)


def test_programs_that_start_pods_end_before_pods_and_the_api_server_before_etcd(
    machine: Machine, cluster: LocalCluster
) -> None:
    names = ["etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "node1-kubelet", "node1-containerd"]
    machine.parts.services.names.return_value = names
    teardown.down(cluster, phase)
    assert machine.calls("services.order_stop") == ["kube-scheduler", "kube-controller-manager", "node1-kubelet"]
    course = [call[0] for call in machine.parts.mock_calls]
    order = [
        "services.order_stop",
        "end_pods",
        "services.end",
        "supervisor.stop_all",
        "cgroups.kill",
        "network.remove_all",
    ]
    assert sorted(order, key=course.index) == order


def test_the_removal_of_a_node_deletes_nothing_of_another(machine: Machine, cluster: LocalCluster) -> None:
    """node10 begins as node1 does."""
    one, ten = cluster.node(1), cluster.node(10)
    machine.parts.services.names.return_value = [
        f"{node.name}-{part}" for node in (one, ten) for part in ("kubelet", "kube-proxy", "containerd")
    ]
    machine.parts.mounts.cluster_mounts.return_value = [node.home / "x" for node in (one, ten)] + [
        node.run / "y" for node in (one, ten)
    ]
    for node in (one, ten):
        (node.home / "data").mkdir(parents=True)
        node.run.mkdir(parents=True)
    removal.remove_node(cluster, one)
    assert machine.calls("services.stop") == ["node1-kubelet", "node1-kube-proxy", "node1-containerd"]
    assert machine.calls("mounts.unmount") == [[one.home / "x", one.run / "y"]]
    assert machine.calls("cgroups.remove") == [one.cgroup, one.vm_cgroup]
    assert (one.home.exists(), one.run.exists()) == (False, False)
    assert (ten.home.exists(), ten.run.exists()) == (True, True)
