"""Results of the benches from a cluster's times and processes, without a cluster."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench import bringup
from bench.memory import KUBERNETES, MACHINES, owner, place
from bench.trace import Span, critical, job_span, pod_span, told
from stackwright.cli.app import app
from stackwright.local import lock
from stackwright.local.cluster import teardown

UID = "ef349111-9d63-49e5-abaa-eeaf2153f151"


def test_the_critical_path_has_the_last_ended_span_before_each_start() -> None:
    database, cache = Span("database", 0, 10), Span("cache", 0, 4)
    sync, other = Span("sync", 10, 30), Span("other", 5, 12)
    api, side = Span("api", 31, 40), Span("side", 20, 25)
    assert critical([api, side, other, sync, cache, database]) == [database, sync, api]


def test_a_second_more_or_less_does_not_break_the_chain() -> None:
    assert [span.name for span in critical([Span("a", 0, 6), Span("b", 5, 9)])] == ["a", "b"]


def test_a_span_that_did_not_start_earlier_is_not_on_the_path() -> None:
    first, beside, last = Span("first", 0, 9), Span("beside", 10, 11), Span("last", 10, 40)
    assert critical([first, beside, last]) == [first, last]


def test_work_without_length_and_no_work_at_all() -> None:
    assert critical([]) == []
    assert critical([Span("at once", 3, 3)]) == []


def test_the_path_is_printed_from_the_origin() -> None:
    assert told([Span("a", 100, 106), Span("b", 106, 110)], 95) == "a 5-11, b 11-15"


def test_spans_of_jobs_and_pods() -> None:
    status = {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:07Z"}
    (job,) = job_span({"metadata": {"name": "nova-db-sync"}, "status": status})
    assert (job.name, job.end - job.start) == ("Job nova-db-sync", 7)
    assert not list(job_span({"metadata": {"name": "running"}, "status": {"startTime": "2026-01-01T00:00:00Z"}}))

    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"}
    pod = {
        "metadata": {
            "name": "nova-api-0",
            "labels": {"application": "nova", "component": "api"},
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "status": {"conditions": [ready]},
    }
    (span,) = pod_span(pod)
    assert (span.name, span.end - span.start) == ("nova api", 9)
    pod["metadata"]["ownerReferences"] = [{"kind": "Job"}]
    assert not list(pod_span(pod))


def test_a_process_belongs_to_its_pod_to_kubernetes_or_is_a_machine() -> None:
    pods = {UID: ("memcached", "server")}
    inside = f"8:pids:/stackwright/node1/kubepods/burstable/pod{UID}/7b7e\n"
    assert owner(inside, "memcached", pods) == ("memcached", "server")
    assert owner(f"0::/kubepods.slice/pod{UID.replace('-', '_')}.slice", "memcached", pods) == ("memcached", "server")
    assert owner(inside, "pause", pods) == (KUBERNETES, "pause")
    assert owner("8:pids:/stackwright/system/etcd\n", "etcd", pods) == (KUBERNETES, "etcd")
    assert owner("8:pids:/openstack-vms/node1\n4:memory:/stackwright/node1\n", "qemu", pods)[0] == MACHINES
    assert owner(inside, "x", {}) == ("pods that are gone", "x")


def test_pods_of_the_system_are_kubernetes() -> None:
    labels = {"application": "local-volume-provisioner", "component": "provisioner"}
    meta = {"name": "p", "namespace": "kube-system", "labels": labels}
    assert place({"metadata": meta}) == (KUBERNETES, "provisioner")
    assert place({"metadata": {**meta, "namespace": "openstack"}}) == ("local-volume-provisioner", "provisioner")


def test_a_bench_deletes_the_cluster_without_a_prompt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone: list[bool] = []

    def called(words: list[Any], *_: Any) -> None:
        result = CliRunner().invoke(app, [str(word) for word in words[1:]])
        assert result.exit_code == 0, result.output

    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path))
    (tmp_path / "kubeconfig").touch()
    monkeypatch.setattr(
        lock, "exclusive", lambda _: nullcontext()
    )  # one exists per machine; other processes may hold it
    monkeypatch.setattr(teardown, "down", lambda *_, purge, **__: gone.append(purge))
    monkeypatch.setattr(bringup, "run", called)
    bringup.down()
    assert gone == [True]
