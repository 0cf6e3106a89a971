"""Memory of the whole idle cloud, by component, with and without Kubernetes itself. Reads only.

How: the proportional set size (PSS) of every process in the cgroups /stackwright and /openstack-vms, from
/proc/<pid>/smaps_rollup, n times (1). PSS divides shared pages among their processes, so the sum is the memory that the
processes really use; kernel memory and page cache are not included. A process belongs to the component of its pod
(labels application and component); pause containers and processes outside of pods belong to Kubernetes.

Sources of error: a cloud that is not idle. Virtual machines are listed separately and are in no sum; other clouds in
the same local cluster are included.
"""

from __future__ import annotations

import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.figure import Figure, Goal
from bench.options import BenchError, Options
from stackwright.local.config import CGROUP, VM_CGROUP, LocalCluster
from stackwright.local.host import cgroups
from stackwright.local.kubernetes import api

KUBERNETES, MACHINES = "Kubernetes", "virtual machines"
SYSTEM_NAMESPACES = {"kube-system"}
POD = re.compile(r"/pod([0-9a-f]{8}[-_][0-9a-f-_]{27})")
PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
SMALL = 5.0
Table = dict[tuple[str, str], float]
"""(part, component) → MiB"""


def measure(options: Options) -> Iterator[Figure]:
    tables = []
    for index in range(options.n or 1):
        if index:
            time.sleep(5)
        tables.append(look())
    yield from figures(tables)


def figures(tables: list[Table]) -> Iterator[Figure]:
    """The sums, then the components."""
    total = [sum(each.values()) - part(each, MACHINES) for each in tables]
    yield Figure("whole cloud, PSS", "MiB", total, Goal(most=4096), note="Kubernetes included, no virtual machines")
    yield Figure("of it Kubernetes", "MiB", [part(each, KUBERNETES) for each in tables])
    yield Figure(
        "without Kubernetes", "MiB", [whole - part(each, KUBERNETES) for whole, each in zip(total, tables, strict=True)]
    )
    yield Figure("virtual machines", "MiB", [part(each, MACHINES) for each in tables])
    yield from components(tables)


def components(tables: list[Table]) -> Iterator[Figure]:
    """The largest first; the small ones as one figure."""
    names = {key for each in tables for key in each if key[0] != MACHINES}
    samples = {key: [each.get(key, 0.0) for each in tables] for key in names}
    ranked = sorted(names, key=lambda key: -statistics.median(samples[key]))
    large = [key for key in ranked if statistics.median(samples[key]) >= SMALL]
    for key in large:
        yield Figure(f"{key[0]}: {key[1]}", "MiB", samples[key])
    rest = [sum(samples[key][i] for key in ranked[len(large) :]) for i in range(len(tables))]
    yield Figure(f"{len(ranked) - len(large)} others, each below {SMALL:g} MiB", "MiB", rest)


def look() -> Table:
    """Raises BenchError without a running local cluster, or without the right to read its processes."""
    client = api.of(LocalCluster.discover())
    if (why := client.unready()) is not None:
        raise BenchError(f"no local cluster responds: {why}; `stackwright up` creates one")
    found = read((client.get("/api/v1/pods") or {}).get("items", []))
    if not found:
        raise BenchError("no memory could be read; only root can")
    return found


def read(pods: Iterable[Mapping[str, Any]]) -> Table:
    known = {str(pod["metadata"]["uid"]): place(pod) for pod in pods}
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    for group in (CGROUP, VM_CGROUP):
        for pid in cgroups.processes(group):
            try:
                where, name = Path(f"/proc/{pid}/cgroup").read_text(), Path(f"/proc/{pid}/comm").read_text().strip()
                pss = PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_text())
            except OSError:  # the process has ended
                continue
            key = (MACHINES, name) if group == VM_CGROUP else owner(where, name, known)
            found[key] += int(pss[1]) / 1024 if pss else 0.0
    return dict(found)


def owner(where: str, name: str, pods: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Component of a process, from its cgroups (text of /proc/<pid>/cgroup) and its name."""
    if f"/{VM_CGROUP}/" in where:
        return MACHINES, name
    match = POD.search(where)
    if match is None or name == "pause":
        return KUBERNETES, name
    return pods.get(match[1].replace("_", "-"), ("pods that are gone", name))


def place(pod: Mapping[str, Any]) -> tuple[str, str]:
    meta = pod["metadata"]
    labels = meta.get("labels") or {}
    component = labels.get("component") or labels.get("app.kubernetes.io/name") or labels.get("k8s-app") or meta["name"]
    if meta["namespace"] in SYSTEM_NAMESPACES:
        return KUBERNETES, str(component)
    application = labels.get("application") or meta["namespace"]
    return str(application), str(component)


def part(table: Table, name: str) -> float:
    return sum(value for key, value in table.items() if key[0] == name)
