"""Steps of `up` that ran before: causes for another run, and their waits."""

from __future__ import annotations

import copy
import datetime
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.local import waiting
from stackwright.local.commands import LocalError, quiet
from stackwright.local.config import LocalCluster
from stackwright.local.host import services
from stackwright.local.kubernetes import api, dns_query, flags
from stackwright.local.steps import packages
from stackwright.local.steps.context import Context
from stackwright.local.steps.kubernetes import control_plane, dns, nodes


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    made = Context(LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run"))
    image: Any = SimpleNamespace(reference="stackwright.local/coredns:1")
    made.images = [image]
    return made


class Api:
    """Objects by path; a Deployment is available as soon as it is applied."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}

    def get(self, path: str) -> Any:
        return self.objects.get(path)

    def apply(self, path: str, manifest: Any) -> None:
        made = copy.deepcopy(manifest)
        made["metadata"]["generation"] = 1
        made["status"] = {"observedGeneration": 1, "availableReplicas": 9, "updatedReplicas": 9}
        self.objects[path] = made


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Api:
    made = Api()
    monkeypatch.setattr(api, "of", lambda cluster: made)
    return made


def test_cluster_dns_is_recreated_for_another_image_and_queried_before_it_counts(
    ctx: Context, objects: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [True]
    monkeypatch.setattr(dns_query, "resolves", lambda name, server: answers[0])
    assert not dns.done(ctx)
    dns.run(ctx, quiet)
    assert dns.done(ctx)
    answers[0] = False
    assert not dns.done(ctx), "its status may be of before a restart"
    answers[0] = True
    image: Any = SimpleNamespace(reference="stackwright.local/coredns:2")
    ctx.images = [image]
    assert not dns.done(ctx)
    dns.run(ctx, quiet)
    assert dns.done(ctx)


def test_the_control_plane_is_started_again_for_another_audit_policy(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: dict[str, Any] = {}
    monkeypatch.setattr(services, "ensure", lambda cluster, *wanted: running.update({s.name: s for s in wanted}))
    monkeypatch.setattr(services, "is_current", lambda cluster, service: running.get(service.name) == service)
    assert not control_plane.done(ctx)
    control_plane.run(ctx, quiet)
    assert control_plane.done(ctx)
    monkeypatch.setattr(flags, "AUDIT_POLICY", "another")
    assert not control_plane.done(ctx)
    control_plane.run(ctx, quiet)
    assert control_plane.done(ctx)
    del running["etcd"]
    assert not control_plane.done(ctx)


def test_a_node_counts_only_by_reports_since_the_start_of_its_kubelet(
    ctx: Context, objects: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    (node,) = ctx.nodes
    now, old = time.time(), "no status of its kubelet since the kubelet's start"
    monkeypatch.setattr(services, "status", lambda cluster, name: SimpleNamespace(since=now - 60))
    # The last one: a report of the kubelet before this one, and then the clock was set back by an hour.
    for age, said in ((30, None), (0, None), (300, old), (90 - 3600, old)):
        at = datetime.datetime.fromtimestamp(now - age, datetime.UTC).isoformat()
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": at}
        objects.objects[f"/api/v1/nodes/{node.name}"] = {"status": {"conditions": [ready]}}
        assert nodes.unready(ctx, node) == said


def test_old_package_lists_are_updated(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def execute(argv: list[str], *, limit: float, env: dict[str, str]) -> str:
        ran.append(argv[1])
        assert env == {"DEBIAN_FRONTEND": "noninteractive"}
        if argv[1] == "install":
            assert argv[-2:] == ["s6", "nftables"], "only what is missing"
            if "update" not in ran:
                raise LocalError("404 Not Found")
        return ""

    monkeypatch.setattr(packages, "execute", execute)
    monkeypatch.setattr(packages, "missing", lambda: ["s6", "nftables"])
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    packages.run(ctx, quiet)
    assert ran == ["install", "update", "install"]
    ran.remove("install")
    packages.run(ctx, quiet)
    assert ran == ["update", "install", "install"], "once when they are new"
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(LocalError, match=r"no apt-get.*s6, nftables"):
        packages.run(ctx, quiet)


def test_a_wait_ends_at_its_limit_with_the_cause_and_the_end_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    clock.sleep = lambda seconds: setattr(clock, "now", clock.now + seconds)
    monkeypatch.setattr(waiting, "time", clock)
    (tmp_path / "log").write_text("first\nno space left\n")
    told: list[str] = []
    with pytest.raises(LocalError) as raised:
        waiting.wait_for("etcd", lambda: "no answer", limit=60, log=tmp_path / "log", report=told.append)
    assert str(raised.value).startswith("etcd not ready after 60 s: no answer\nThe end of ")
    assert str(raised.value).endswith("no space left")
    assert 60 < clock.now < 62
    assert told == ["waiting for etcd: no answer"], "each cause once"
