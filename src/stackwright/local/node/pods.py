"""End the pods and virtual machines of all nodes or of one."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from stackwright.local.config import CGROUP, VM_CGROUP
from stackwright.local.host import cgroups

POD_GRACE = 8.0


def end_pods(groups: tuple[str, ...] = (CGROUP, VM_CGROUP), grace: float = POD_GRACE) -> None:
    """End pods and virtual machines by SIGTERM, because databases must write their data.

    Waits until all have ended, no further one ends within 2 s, or `grace` is over.
    """
    end = time.monotonic() + grace
    signaled: set[int] = set()
    last_change, count = time.monotonic(), -1
    while (alive := _pod_processes(groups)) and time.monotonic() < end:
        for pid in alive - signaled:
            _signal(pid, signal.SIGTERM)
        signaled |= alive
        if len(alive) != count:
            last_change, count = time.monotonic(), len(alive)
        if time.monotonic() - last_change > 2:
            break
        time.sleep(0.1)


def _pod_processes(groups: tuple[str, ...]) -> set[int]:
    """Processes of pods and virtual machines, in one hierarchy only, as it is polled; `end_processes` finds others."""
    found: set[int] = set()
    for group in groups:
        for path, _, _ in os.walk(cgroups.primary() / group):
            if "/kubepods" in path or group.startswith(VM_CGROUP):
                found |= cgroups.members(Path(path))
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
