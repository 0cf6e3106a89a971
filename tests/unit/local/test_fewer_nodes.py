"""The number of nodes is known or given, never guessed; no node is removed with its data without confirmation."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner

from stackwright.cli.app import app
from stackwright.cli.cluster import connection as cli_connection
from stackwright.core.kubernetes.versions import OLDEST_TEXT
from stackwright.local.cluster import bringup
from stackwright.local.cluster.doctor import examine
from stackwright.local.cluster.state import cluster_state
from stackwright.local.commands import LocalError, quiet
from stackwright.local.config import LocalCluster
from stackwright.local.host import services
from stackwright.local.kubernetes import api
from stackwright.local.node import removal
from stackwright.local.steps.context import Context, nodes_of, remember, remembered_nodes
from stackwright.local.steps.kubernetes import host_setup, nodes
from stackwright.local.steps.openstack import demo

DAMAGED = ["", "{", "[]", "3", '{"nodes": 0}', '{"nodes": 21}', '{"nodes": "3"}', '{"nodes": true}', "{}", "\0" * 13]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalCluster:
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("STACKWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cli_connection, "is_stopped", lambda: True)
    made = LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run")
    monkeypatch.setattr(LocalCluster, "discover", classmethod(lambda cls, environ=None: made))
    return made


@pytest.fixture
def three(cluster: LocalCluster) -> Context:
    """What `up --nodes 3` leaves."""
    made = Context(cluster, 3)
    remember(made)
    for node in made.nodes:
        (node.var / "lib/nova").mkdir(parents=True)
    return made


class Api:
    """Volumes of servers of a database, one a node."""

    def __init__(self, servers: int) -> None:
        self.deleted: list[str] = []
        self.servers = servers
        self.labels = {"application": "mariadb", "component": "server"}

    def get(self, path: str) -> dict[str, Any]:
        numbers = range(self.servers)
        if path.endswith("/persistentvolumes"):
            return {"items": [self.volume(number) for number in numbers]}
        if path.endswith("/persistentvolumeclaims"):
            meta = [{"namespace": "openstack", "name": f"data-{n}", "labels": self.labels} for n in numbers]
            return {"items": [{"metadata": each} for each in meta]}
        return {}

    def volume(self, number: int) -> dict[str, Any]:
        host = {"key": "kubernetes.io/hostname", "operator": "In", "values": [f"node{3 - number}"]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}}
        claim = {"namespace": "openstack", "name": f"data-{number}"}
        return {"metadata": {"name": f"pvc-{number}"}, "spec": {"claimRef": claim, "nodeAffinity": affinity}}

    def apply(self, path: str, manifest: Any) -> None: ...

    def delete(self, path: str) -> None:
        self.deleted.append(path)


@pytest.fixture
def running(three: Context, monkeypatch: pytest.MonkeyPatch) -> Api:
    fake = Api(0)
    monkeypatch.setattr(api, "of", lambda cluster: fake)
    monkeypatch.setattr(cli_connection, "is_stopped", lambda: False)
    monkeypatch.setattr(nodes, "unready", lambda ctx, node: None)
    monkeypatch.setattr(services, "ensure", lambda cluster, *wanted: None)
    monkeypatch.setattr(removal, "remove_node", lambda cluster, node: fake.deleted.append(node.name))
    return fake


def up(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[Any, list[int]]:
    """The result of the command, and how many nodes it went on with, if it did."""
    begun: list[int] = []
    monkeypatch.setattr(demo, "summary", lambda ctx: [])
    monkeypatch.setattr(bringup, "up", lambda ctx, phase, skip: begun.append(ctx.node_count))
    return CliRunner().invoke(app, ["up", *words]), begun


# ---- recorded state


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_kill_while_the_number_is_written_leaves_the_former_one(
    three: Context, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def dies(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(*((os, call) if call == "fsync" else (Path, call)), dies)
    with pytest.raises(KeyboardInterrupt):
        remember(Context(three.cluster, 2))
    assert remembered_nodes(three.cluster) == 3


def test_a_cluster_that_was_never_created_has_one_node(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert remembered_nodes(cluster) == 1
    cluster.state.mkdir()
    cluster.settings.touch()
    assert remembered_nodes(cluster) == 1, "nobody has anything to lose"
    result, begun = up(monkeypatch)
    assert (result.exit_code, begun) == (0, [1]), "nor is its version asked for"


@pytest.mark.parametrize("text", [None, *DAMAGED])
def test_an_unreadable_number_with_existing_nodes_is_an_error_with_a_remedy(
    three: Context, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    settings = three.cluster.settings
    settings.unlink() if text is None else settings.write_text(text)
    with pytest.raises(LocalError, match=r"(?s)cluster\.json.*node1, node2, node3.*stackwright up --nodes 3") as told:
        remembered_nodes(three.cluster)
    result, begun = up(monkeypatch)
    assert (result.exit_code, begun) == (1, [])
    assert str(told.value) in result.stderr
    assert "Traceback" not in result.output
    words = re.findall(r"`stackwright up (.*?)`", str(told.value))[0].replace("VERSION", OLDEST_TEXT).split()
    result, begun = up(monkeypatch, *words)
    assert (result.exit_code, begun) == (0, [3]), "the remedy"


@pytest.mark.parametrize("text", [None, "", "{", "[]", "\0" * 13])
def test_with_an_unreadable_file_the_version_of_kubernetes_is_given_and_never_guessed(
    three: Context, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    settings = three.cluster.settings
    settings.unlink() if text is None else settings.write_text(text)
    result, begun = up(monkeypatch, "--nodes", "3")
    assert (result.exit_code, begun) == (1, [])
    assert "`stackwright up --nodes 3 --kubernetes VERSION` keeps them" in result.stderr
    monkeypatch.setattr(demo, "summary", lambda ctx: [])
    monkeypatch.setattr(bringup, "up", lambda ctx, phase, skip: remember(ctx))
    assert CliRunner().invoke(app, ["up", "--nodes", "3", "--kubernetes", OLDEST_TEXT]).exit_code == 0
    assert json.loads(settings.read_bytes()) == {"nodes": 3, "kubernetes": OLDEST_TEXT}


def test_an_unreadable_file_of_the_local_cluster_does_not_matter_to_another_cluster(
    three: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    three.cluster.settings.write_text("{")
    (config := tmp_path / "kubeconfig.yaml").touch()
    result, begun = up(monkeypatch, "--kubeconfig", str(config), "--images", "r.example/x")
    assert (result.exit_code, begun) == (0, [1])


def test_the_version_of_a_cluster_whose_file_is_readable_is_not_changed(
    three: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, begun = up(monkeypatch, "--nodes", "3", "--kubernetes", OLDEST_TEXT)
    assert (result.exit_code, begun) == (2, [])


def test_with_a_number_that_cannot_be_read_the_cluster_is_shown_with_all_its_nodes(three: Context) -> None:
    three.cluster.settings.write_text("")
    assert cluster_state(three.cluster).state == "stopped"
    assert nodes_of(three.cluster) == three.nodes
    three.cluster.settings.unlink()
    assert cluster_state(three.cluster).state == "stopped", "not absent"
    assert any("cluster.json" in found.text for found in examine(three.cluster) if found.level == "problem")


# ---- fewer of them


def test_removed_nodes_are_confirmed_by_name_and_without_a_terminal_rejected(
    three: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, begun = up(monkeypatch, "--nodes", "1")
    assert (result.exit_code, begun) == (1, [])
    for said in ("node2", "node3", str(three.cluster.node(3).home), "virtual machines", "--yes"):
        assert said in result.stderr
    assert "node1" not in result.stderr
    assert json.loads(three.cluster.settings.read_text()) == {"nodes": 3}


@pytest.mark.parametrize("words", [("--nodes", "1", "--yes"), ("--nodes", "3"), ("--nodes", "4"), ()])
def test_yes_or_no_removed_node_causes_no_prompt(
    three: Context, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    result, begun = up(monkeypatch, *words)
    assert (result.exit_code, begun) == (0, [int(words[1]) if words else 3]), result.output


def test_data_on_the_nodes_is_named_if_the_cluster_runs(running: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    running.servers, running.labels = 2, {"application": "glance"}
    result, _ = up(monkeypatch, "--nodes", "2")
    assert "volume openstack/data-0, on node3" in result.stderr
    assert "data-1" not in result.stderr


def test_nodes_of_an_unresponsive_cluster_are_named(running: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(path: str) -> NoReturn:
        raise LocalError("GET: 0")

    monkeypatch.setattr(running, "get", away)
    result, begun = up(monkeypatch, "--nodes", "2")
    assert (result.exit_code, begun) == (1, [])
    assert "node3 with the disks" in result.stderr


@pytest.mark.parametrize(("servers", "refused"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_node_with_one_of_several_voting_servers_is_kept(
    three: Context, running: Api, monkeypatch: pytest.MonkeyPatch, servers: int, refused: bool
) -> None:
    """As a spec is refused that lowers their number; --yes is no answer to that."""
    running.servers = servers
    fewer = Context(three.cluster, 2)
    if refused:
        with pytest.raises(
            LocalError, match=r"(?s)node3 cannot be removed.*openstack/mariadb.*allowed: \d or more"
        ) as told:
            nodes.run(fewer, quiet)
        assert (running.deleted, remembered_nodes(three.cluster)) == ([], 3)
        result, _ = up(monkeypatch, "--nodes", "2")
        assert str(told.value) in result.stderr
        assert "--yes" not in result.stderr, "nobody is asked what is then refused"
    else:
        nodes.run(fewer, quiet)
        assert (running.deleted, remembered_nodes(three.cluster)) == (["/api/v1/nodes/node3", "node3"], 2)


def test_the_number_is_lowered_only_when_the_nodes_may_leave(three: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rejected command keeps the former nodes."""
    for module in (host_setup.network, host_setup.kernel, host_setup.supervisor, host_setup.services, host_setup.power):
        for name in ("ensure", "start", "connect", "cut", "boot", "is_on"):
            monkeypatch.setattr(module, name, lambda *words: True, raising=False)
    monkeypatch.setattr(host_setup, "uplink", lambda cluster: [])
    monkeypatch.setattr(host_setup.cgroups, "processes", lambda *words: {1})
    host_setup.run(Context(three.cluster, 1), quiet)
    assert remembered_nodes(three.cluster) == 3
    host_setup.run(Context(three.cluster, 4), quiet)
    assert remembered_nodes(three.cluster) == 4
