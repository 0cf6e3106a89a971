"""Shared by `up` and `cold`: deletion of the local cluster, and `stackwright up` with its step times and CPU time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.options import BenchError, Options
from bench.process import program, run
from stackwright.local.config import CGROUP, VM_CGROUP, LocalCluster
from stackwright.local.host import cgroups

STEP = re.compile(r"^ ✓ (.+) \((\d+\.\d) s\)$", re.MULTILINE)


@dataclass(frozen=True)
class Up:
    """steps  title → seconds, in order;  cpu  seconds of the command, its children and everything it started"""

    wall: float
    cpu: float
    steps: dict[str, float]


def allow(options: Options) -> None:
    """Raises BenchError if a cluster exists, unless --purge is given."""
    if LocalCluster.discover().settings.exists() and not options.purge:
        raise BenchError("there is a local cluster; this bench throws it and its data away: say --purge if it may")


def down(env: Mapping[str, str] | None = None) -> None:
    run([program("stackwright"), "down", "--purge", "--yes"], env)


def up(env: Mapping[str, str] | None = None, *, token: bool = True, vm: bool = False) -> Up:
    """Run `stackwright up` until it has a token or a machine. KUBECONFIG is cleared: it could name another cluster."""
    before = services_cpu()
    words = ["up"] if vm else ["up", "--no-vm"]
    cost = run([program("stackwright"), *words], {**(env or {}), "KUBECONFIG": ""})
    if token and "project_id" not in cost.output:
        raise BenchError(f"`stackwright up` ended without a token:\n{cost.output[-2000:]}")
    steps = {title: float(seconds) for title, seconds in STEP.findall(cost.output)}
    return Up(cost.wall, cost.cpu + services_cpu() - before, steps)


def services_cpu() -> float:
    """CPU seconds of the cluster's processes and virtual machines, including ended ones, since their cgroups exist."""
    return sum(_group_cpu(group) for group in (CGROUP, VM_CGROUP))


def _group_cpu(group: str) -> float:
    for top in cgroups.hierarchies():
        usage, stat = Path(top, group, "cpuacct.usage"), Path(top, group, "cpu.stat")
        if usage.exists():
            return int(usage.read_text()) / 1e9
        if stat.exists() and (found := re.search(r"^usage_usec (\d+)", stat.read_text(), re.MULTILINE)):
            return int(found[1]) / 1e6
    return 0.0


def trace(found: list[Up]) -> str:
    """Steps of the slowest run, without those under a tenth of a second."""
    slowest = max(found, key=lambda each: each.wall)
    return ", ".join(f"{title} {seconds:.1f}" for title, seconds in slowest.steps.items() if seconds >= 0.1)
