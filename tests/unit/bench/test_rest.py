"""The cloud at rest: each time is a sample, and all writers are listed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import rest
from bench.options import BenchError, Options

OPTIONS: dict[str, Any] = {"objects": None, "again": False, "purge": False, "profile": "", "gib": 8.0}


def event(user: str, verb: str, at: datetime, resource: str = "secrets") -> str:
    where = {"resource": resource, "name": "s"}
    told = {"user": {"username": user}, "verb": verb, "stage": "ResponseComplete", "objectRef": where}
    return json.dumps({**told, "stageTimestamp": at.isoformat()})


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a cluster whose time passes only during sleeps."""
    now = [1_800_000_000.0]
    path = tmp_path / "audit/audit.log"
    path.parent.mkdir()
    path.touch()

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(rest, "time", clock)
    monkeypatch.setattr(rest, "datetime", SimpleNamespace(
        now=lambda zone: datetime.fromtimestamp(now[0], UTC), fromisoformat=datetime.fromisoformat))  # fmt: skip
    monkeypatch.setattr(rest.LocalCluster, "discover", lambda: SimpleNamespace(logs=tmp_path))
    monkeypatch.setattr(rest.api, "of", lambda cluster: None)
    monkeypatch.setattr(rest, "processes", lambda client, *place: {1})
    monkeypatch.setattr(rest, "_events", lambda client: set())
    monkeypatch.setattr(rest, "_note", lambda client, writers: f"{sum(writers.values())} wrote")
    monkeypatch.setattr(rest, "_cpu", lambda pids: now[0] / 100)
    monkeypatch.setattr(rest, "memory", lambda pids, field: 100.0)
    return path


def test_each_of_n_times_is_a_sample_and_the_note_is_of_the_worst(log: Path) -> None:
    """61 s each: 60 of looking, and one for the log."""
    at = [datetime.fromtimestamp(1_800_000_000 + seconds, UTC) for seconds in (30, 90, 95)]
    lines = [event(rest.OURS, "get", at[0]), event("system:node:node1", "patch", at[0])]
    lines += [event(rest.OURS, "patch", at[1]), event(rest.PROVISIONER, "create", at[2])]
    lines += [event(rest.OURS, "patch", at[1], "leases")]  # the only write of an operator at rest
    log.write_text("\n".join(lines) + "\n")
    figures = {figure.of: figure for figure in rest.measure(Options(n=3, seconds=60.0, **OPTIONS))}
    ours = figures["API writes a minute, ours"]
    assert list(ours.samples) == [0, 2, 0]
    assert ours.note == "2 wrote; patch secrets/s 1; create secrets/s 1; 0 Events of ours"
    assert list(figures["API writes a minute, others"].samples) == [1, 0, 0]
    assert list(figures["operator: CPU"].samples) == pytest.approx([1, 1, 1])
    assert [len(figure.samples) for figure in figures.values()] == [3] * 8


def test_without_an_operator_no_figure_is_printed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "processes", lambda client, *place: set())
    with pytest.raises(BenchError, match="no process of the operator"):
        list(rest.measure(Options(n=None, seconds=1.0, **OPTIONS)))
