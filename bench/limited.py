"""Whether `up` reaches a login with limited memory for the cluster, and its peak memory.

How: `stackwright down --purge`; the cgroup /stackwright, which contains the whole cluster, gets a memory limit and no
swap; then `stackwright up`. The limit is `--gib` (8), the memory of the simulated machine, minus 1.5 GiB for the
machine's own programs, the command itself and the virtual machine, which has its own cgroup. It DELETES the local
cluster and its data, so it runs only when named, and with an existing cluster only with --purge. The cluster and the
limit are removed with the cgroup at the end.

Sources of error: the cgroup does not count page cache of files that other programs read before, so a freshly booted
machine reads more from its disk; the memory of the kernel itself is assumed, not measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bench.bringup import Up, allow, down, up
from bench.figure import Figure, Goal
from bench.memory import MACHINES, part, read
from bench.options import BenchError, Options, say
from stackwright.local.config import CGROUP, LocalCluster
from stackwright.local.host import cgroups
from stackwright.local.kubernetes import api
from stackwright.local.steps.openstack import demo

OTHERS = 1.5
"""GiB for the machine's own programs, the command and the virtual machine."""
GIB = 2**30


def measure(options: Options) -> Iterator[Figure]:
    allow(options)
    down()
    cgroups.ensure(CGROUP)
    group = limit(int((options.gib - OTHERS) * GIB))
    try:
        found, why = _up()
        size = f"{options.gib:g} GiB, {options.gib - OTHERS:g} of them the cluster's"
        # The goal is zero failed runs.
        yield Figure(f"up within {size}: did not reach the login", "runs", [0 if found else 1], Goal(most=0), note=why)
        if found:
            yield Figure(f"up within {size}: wall", "s", [found.wall])
            pods = (api.of(LocalCluster.discover()).get("/api/v1/pods") or {}).get("items", [])
            table = read(pods)
            yield Figure("PSS at its end, no virtual machines", "MiB", [sum(table.values()) - part(table, MACHINES)])
            yield Figure("PSS of the virtual machine", "MiB", [part(table, MACHINES)])
        yield Figure("peak of the cgroup, page cache included", "MiB", [peak(group) / 2**20])
        yield Figure("processes killed for lack of memory", "processes", [killed(group)], Goal(most=0))
    finally:
        down()


def _up() -> tuple[Up | None, str]:
    try:
        done = up(vm=True)
    except BenchError as error:
        say(str(error))
        return None, str(error).strip().splitlines()[-1]
    if demo.TITLE not in done.steps:
        return None, "it booted no virtual machine"
    return done, ""


def limit(size: int) -> Path:
    """Set the memory limit and forbid swap; returns the cgroup."""
    group = next((top / CGROUP for top in cgroups.hierarchies() if (top / CGROUP / _file("limit")).exists()), None)
    if group is None:
        raise BenchError("there is no cgroup of memory here")
    (group / _file("limit")).write_text(str(size))
    swap = group / ("memory.swap.max" if cgroups.unified() else "memory.memsw.limit_in_bytes")
    if swap.exists():
        swap.write_text("0" if cgroups.unified() else str(size))
    hierarchy = group / "memory.use_hierarchy"
    if hierarchy.exists() and hierarchy.read_text().strip() != "1":
        raise BenchError(f"{hierarchy} is off, so the limit would not hold for cgroups below it")
    if abs(int((group / _file("limit")).read_text()) - size) > 2**20:
        raise BenchError(f"the limit of {group} did not take")
    return group


def peak(group: Path) -> int:
    """Peak memory in bytes."""
    file = group / _file("peak")
    return int(file.read_text()) if file.exists() else 0


def killed(group: Path) -> int:
    """Processes that the kernel killed in the group and below it."""
    name = "memory.events" if cgroups.unified() else "memory.oom_control"
    # Version 2 includes descendants in the group's own file; version 1 has one file per group.
    files = [group / name] if cgroups.unified() else list(group.rglob(name))
    counts = [re.search(r"^oom_kill (\d+)", file.read_text(), re.MULTILINE) for file in files]
    return sum(int(match[1]) for match in counts if match)


def _file(what: str) -> str:
    v2, v1 = {
        "limit": ("memory.max", "memory.limit_in_bytes"),
        "peak": ("memory.peak", "memory.max_usage_in_bytes"),
    }[what]
    return v2 if cgroups.unified() else v1
