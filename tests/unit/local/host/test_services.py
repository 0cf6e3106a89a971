import json
import os
import time
from pathlib import Path

import pytest

from stackwright.local import waiting
from stackwright.local.cluster import leftovers
from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups, services
from stackwright.local.host.services import Service
from stackwright.local.kubernetes import coredns
from stackwright.local.kubernetes.api import deployment_unready, node_unready
from stackwright.local.kubernetes.dns_query import is_answer, question


@pytest.fixture(autouse=True)
def two_hierarchies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "hierarchies", lambda: (Path("/cg/memory"), Path("/cg/pids")))


def test_a_service_joins_every_hierarchy_and_is_searched_in_one() -> None:
    spec = json.loads(Service("etcd", ("etcd",), "stackwright/system/etcd").spec())
    assert spec["cgroups"] == ["/cg/memory/stackwright/system/etcd", "/cg/pids/stackwright/system/etcd"]
    assert spec["home"] == "/cg/pids/stackwright/system/etcd"


def test_a_changed_configuration_replaces_the_service() -> None:
    one = Service("kubelet", ("kubelet",), "g", inputs="a")
    other = Service("kubelet", ("kubelet",), "g", inputs="b")
    assert one.spec() != other.spec()


def test_a_command_to_a_starting_supervisor_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, False, True])
    monkeypatch.setattr(services, "succeeds", lambda argv: next(answers))
    monkeypatch.setattr(services, "_is_same", lambda cluster, service: True)
    monkeypatch.setattr(services, "_unlaunched", lambda cluster, name: None)
    monkeypatch.setattr(cgroups, "ensure", lambda place: None)
    assert services.ensure(LocalCluster.discover(), Service("etcd", ("etcd",), "g")) == []
    assert next(answers, None) is None


@pytest.mark.parametrize(("step", "age_by_s6"), [(0, 300), (-3600, 0), (3600, 3900)])
def test_a_step_of_the_clock_makes_no_service_younger_or_older(
    step: int, age_by_s6: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """s6 subtracts the time of the start from the time of the clock, and says 0 if that was set back before it."""
    cluster = LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run")
    place = services.folder(cluster, "etcd")
    place.mkdir(parents=True)
    (place / "launched").write_text(str(os.getpid()))
    monkeypatch.setattr(services, "run", lambda argv, limit: f"true {os.getpid()} {age_by_s6}")
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: started + 300.5}.__getitem__)
    now = 1_800_000_000.0 + step
    monkeypatch.setattr(time, "time", lambda: now)
    status = services.status(cluster, "etcd")
    assert (status.up, status.seconds) == (True, 300)
    # A heartbeat of the last five minutes may be of the clock before its step, or of the one after it.
    assert status.since == min(now - 300, now - step - 300)


def test_a_service_that_ended_has_the_age_that_s6_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run")
    place = services.folder(cluster, "etcd")
    place.mkdir(parents=True)
    (place / "launched").write_text("7")
    monkeypatch.setattr(services, "run", lambda argv, limit: "false -1 7")
    status = services.status(cluster, "etcd")
    assert (status.up, status.pid, status.seconds) == (False, None, 7)


def test_a_wait_that_fails_names_its_cause_and_shows_the_log(tmp_path: Path) -> None:
    log = tmp_path / "current"
    log.write_text("first\npanic: no disk\n")
    with pytest.raises(LocalError, match=r"(?s)etcd not ready.*it sleeps.*panic: no disk"):
        waiting.wait_for("etcd", lambda: "it sleeps", limit=0, log=log)


def test_nothing_left_is_false() -> None:
    left = leftovers.Leftovers()
    left.add("links", [])
    assert not left
    left.add("links", ["sw-br0"])
    assert left
    assert "sw-br0" in str(left)


def node(status: str, when: str) -> dict[str, object]:
    condition = {"type": "Ready", "status": status, "lastHeartbeatTime": when, "message": "no runtime"}
    return {"status": {"conditions": [condition]}}


def test_a_nodes_word_of_a_former_life_does_not_count() -> None:
    assert node_unready(node("True", "2026-01-01T00:00:10Z"), since=1767225600) is None
    assert "no status" in str(node_unready(node("True", "2025-01-01T00:00:00Z"), since=1767225600))
    assert node_unready(node("False", "2026-01-01T00:00:10Z")) == "no runtime"
    assert node_unready(None) == "not registered yet"


def test_a_deployment_is_ready_when_the_new_pods_are() -> None:
    deployment = {
        "metadata": {"generation": 2},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 2, "availableReplicas": 2, "updatedReplicas": 1},
    }
    assert deployment_unready(deployment) == "1 of 2 replicas available"
    deployment["status"]["updatedReplicas"] = 2  # type: ignore[index]
    assert deployment_unready(deployment) is None


def test_dns_without_an_upstream_still_serves_the_cluster() -> None:
    assert "forward" not in coredns.corefile(upstream=False)
    assert "forward . /etc/resolv.conf" in coredns.corefile(upstream=True)


def test_a_dns_response_must_match_and_have_a_record() -> None:
    asked = question("kubernetes.default.svc.cluster.local", 7)
    answer = bytearray(asked)
    answer[2:4] = b"\x81\x80"
    answer[7] = 1
    assert is_answer(bytes(answer), 7)
    assert not is_answer(bytes(answer), 8)
    assert not is_answer(asked, 7)
    assert not is_answer(b"", 7)
