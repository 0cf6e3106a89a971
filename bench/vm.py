"""From an empty machine with warm caches to a login on a virtual machine: wall time, phases, CPU seconds, memory.

How: `stackwright down --purge`, then `stackwright up`, n times (1); it ends after a login on the machine through its
floating IP. Step times are the command's own. The Cloud step runs many jobs in parallel, so the note names the
critical path found in the times that Kubernetes keeps (bench/trace.py), in seconds since `up` began. CPU seconds are
those of the command and its children (wait4), of everything it started, and of the virtual machine (cgroups
/stackwright and /openstack-vms). Memory is that of the bench `memory`, IDLE seconds after each start. It DELETES the
local cluster and its data, so it runs only when named, and with an existing cluster only with --purge.

Sources of error: tools or images that are not cached (with --again, one uncounted run before builds them); page cache
filled by an earlier run; other load on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench import memory, trace
from bench.bringup import Up, allow, down, up
from bench.figure import Figure, Goal
from bench.options import BenchError, Options, say
from stackwright.local.config import LocalCluster
from stackwright.local.kubernetes import api
from stackwright.local.steps.openstack import cloud, demo

IDLE = 60.0  # seconds between a start and the measurement of its memory


@dataclass(frozen=True)
class Run:
    """path    critical path of the start; memory  of its idle cloud"""

    up: Up
    path: str
    memory: memory.Table


def measure(options: Options) -> Iterator[Figure]:
    allow(options)
    if options.again:
        say("once to fill the caches")
        once()
    found = []
    for index in range(options.n or 1):
        found.append(once())
        say(f"{index + 1}: {found[-1].up.wall:.1f} s, {found[-1].up.cpu:.0f} s CPU")
    slowest = max(found, key=lambda each: each.up.wall)
    walls = [each.up.wall for each in found]
    yield Figure("up to a VM logged in to, warm: wall", "s", walls, Goal(most=120), note=slowest.path)
    yield Figure("up to a VM logged in to, warm: CPU", "s", [each.up.cpu for each in found])
    for title in slowest.up.steps:
        seconds = [each.up.steps.get(title, 0.0) for each in found]
        if max(seconds) >= 0.5:
            yield Figure(f"step {title}", "s", seconds)
    yield from memory.figures([each.memory for each in found])


def once() -> Run:
    down()
    origin = time.time()
    done = up(vm=True)
    if demo.TITLE not in done.steps:
        raise BenchError(f"`stackwright up` booted no virtual machine; its steps: {', '.join(done.steps)}")
    traced = path(done, origin)
    time.sleep(IDLE)
    return Run(done, traced, memory.look())


def path(done: Up, origin: float) -> str:
    """All steps are sequential; the Cloud step is followed by its critical path in parentheses."""
    chain = trace.told(trace.critical(trace.spans(api.of(LocalCluster.discover()))), origin)
    steps = []
    for title, seconds in done.steps.items():
        if seconds >= 0.5:
            steps.append(f"{title} {seconds:.0f} s" + (f" ({chain})" if title == cloud.TITLE else ""))
    return f"critical path: {'; '.join(steps)}"
