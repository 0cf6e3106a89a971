"""The running cluster at rest: API writes a minute, memory and CPU of the operator and of the provisioner. Reads only.

How: n times (1), for --seconds (60), the audit log of the local cluster's API server is read: creates, updates, patches
and deletes by the service accounts of operator and provisioner, and by all others. Renewals of Leases are not counted,
also that of the operator every two seconds: at rest they are its only writes. The log contains no
Events, so our Events are counted by listing them before and after. Memory (RSS, and PSS if readable) and CPU time of
the pods' processes are read from /proc; the pods' cgroups identify the processes.

Sources of error: a cloud that is not at rest. The note lists other writers and clouds that are not Ready, for the
interval with the most writes of ours; the figure then shows requested work, not idle work.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figure import Figure, Goal
from bench.options import BenchError, Options, say
from stackwright.api.kinds import LEASE
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups
from stackwright.local.kubernetes import api

WRITES = {"create", "update", "patch", "delete", "deletecollection"}
OURS = "system:serviceaccount:stackwright:stackwright"
PROVISIONER = "system:serviceaccount:kube-system:local-volume-provisioner"
PODS = {"operator": ("stackwright", "application=stackwright"),
        "provisioner": ("kube-system", "application=local-volume-provisioner")}  # fmt: skip
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Look:
    """One interval: writes a minute, CPU of each program (% of a core), and a note."""

    ours: float
    others: float
    cpu: dict[str, float]
    note: str


def measure(options: Options) -> Iterator[Figure]:
    cluster = LocalCluster.discover()
    log = cluster.logs / "audit" / "audit.log"
    if not log.exists():
        raise BenchError(f"there is no {log}: no local cluster, or not yours to read; `stackwright up` makes one")
    client = api.of(cluster)
    found = {name: processes(client, *place) for name, place in PODS.items()}
    if missing := [name for name, pids in found.items() if not pids]:
        raise BenchError(f"no process of the {missing[0]} was found; is it running?")
    looks, sizes = [], []
    for _ in range(options.n or 1):
        looks.append(_look(client, log, found, options.seconds))
        sizes.append({(name, size): memory(pids, size) for name, pids in found.items() for size in ("Rss", "Pss")})
    worst = max(looks, key=lambda look: look.ours)
    yield Figure(
        "API writes a minute, ours", "writes/min", [each.ours for each in looks], Goal(most=0), note=worst.note
    )
    yield Figure("API writes a minute, others", "writes/min", [each.others for each in looks])
    for name in found:
        goal = Goal(most=150) if name == "operator" else None
        yield Figure(f"{name}: RSS", "MiB", [each[name, "Rss"] for each in sizes], goal)
        yield Figure(f"{name}: PSS", "MiB", [each[name, "Pss"] for each in sizes])
        yield Figure(f"{name}: CPU", "% of a core", [each.cpu[name] for each in looks])


def _look(client: api.Api, log: Path, found: Mapping[str, set[int]], patience: float) -> Look:
    cpu = {name: _cpu(pids) for name, pids in found.items()}
    before, start, begin = _events(client), time.monotonic(), datetime.now(UTC)
    say(f"looking for {patience:.0f} s")
    time.sleep(patience)
    seconds, end = time.monotonic() - start, datetime.now(UTC)
    spent = {name: (_cpu(pids) - cpu[name]) / seconds * 100 for name, pids in found.items()}
    events = len(_events(client) - before)
    time.sleep(1)  # the log is written with a delay
    writers = writes(log, begin, end)
    ours = writers[OURS] + writers[PROVISIONER]
    told = written(log, begin, end, OURS, PROVISIONER)
    note = "; ".join([_note(client, writers), *told, f"{events} Events of ours"])
    minute = 60 / seconds
    return Look((ours + events) * minute, (sum(writers.values()) - ours) * minute, spent, note)


def writes(log: Path, begin: datetime, end: datetime, resource: str = "") -> Counter[str]:
    """User → writes between two times, of one resource or of all."""
    return Counter(
        event["user"]["username"]
        for event in _written(log, begin, end)
        if resource in ("", event["objectRef"]["resource"])
    )


def written(log: Path, begin: datetime, end: datetime, *users: str) -> list[str]:
    """Writes of these users, each with its count, the most frequent first."""
    found: Counter[str] = Counter()
    for event in _written(log, begin, end):
        if event["user"]["username"] in users:
            at = event["objectRef"]
            what = "/".join(str(at[part]) for part in ("resource", "name", "subresource") if at.get(part))
            found[f"{event['verb']} {what}"] += 1
    return [f"{what} {n}" for what, n in found.most_common()]


def _written(log: Path, begin: datetime, end: datetime) -> Iterator[dict[str, Any]]:
    """The writes between two times, including those in the previous log file if the log was rotated."""
    rotated = sorted((path for path in log.parent.glob("audit-*.log")), key=lambda path: path.stat().st_mtime)[-1:]
    for path in (*rotated, log):
        for line in path.read_text().splitlines():
            try:
                event = json.loads(line)
            except ValueError:  # the last line is incomplete
                continue
            at = datetime.fromisoformat(event["stageTimestamp"])
            counts = event["verb"] in WRITES and event["objectRef"]["resource"] != LEASE.plural
            if begin <= at <= end and counts and event["stage"] == "ResponseComplete":
                yield event


def _note(client: api.Api, writers: Counter[str]) -> str:
    others = {user: n for user, n in writers.most_common() if user not in (OURS, PROVISIONER)}
    listed = client.get("/apis/lcm.mirantis.com/v1alpha1/openstackdeployments") or {}
    clouds = {}
    for cloud in listed.get("items", []):
        conditions = (cloud.get("status") or {}).get("conditions") or []
        ready = next((c["status"] for c in conditions if c["type"] == "Ready"), "unknown")
        clouds[f"{cloud['metadata']['namespace']}/{cloud['metadata']['name']}"] = ready
    told = ", ".join(f"{name} Ready={ready}" for name, ready in sorted(clouds.items())) or "no cloud"
    who = ", ".join(f"{user} {n}" for user, n in others.items()) or "nobody"
    return f"{told}; others who wrote: {who}"


def _events(client: api.Api) -> set[tuple[str, str]]:
    """(uid, version) of Events that the operator wrote."""
    listed = client.get("/api/v1/events") or {}
    return {
        (event["metadata"]["uid"], event["metadata"]["resourceVersion"])
        for event in listed.get("items", [])
        if (event.get("source") or {}).get("component") == "stackwright"
    }


def processes(client: api.Api, namespace: str, selector: str) -> set[int]:
    """Processes of all running pods with a label, without pause containers."""
    listed: dict[str, Any] = client.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}") or {}
    found: set[int] = set()
    for pod in listed.get("items", []):
        uid = pod["metadata"]["uid"]
        for group in cgroups.groups():
            if uid in str(group) or uid.replace("-", "_") in str(group):
                found |= cgroups.members(group)
    return {pid for pid in found if b"pause" not in _read(pid, "cmdline").split(b"\0")[0]}


def _cpu(pids: set[int]) -> float:
    total = 0
    for pid in pids:
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        total += int(fields[11]) + int(fields[12]) if fields else 0
    return total / TICKS


def memory(pids: set[int], field: str) -> float:
    total = 0
    for pid in pids:
        for line in _read(pid, "smaps_rollup").splitlines():
            if line.startswith(f"{field}:".encode()):
                total += int(line.split()[1])
    return total / 1024


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
