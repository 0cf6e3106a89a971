"""Cgroups, by which all processes of the cluster are found.

Every process of the cluster is below `/stackwright`, in every v1 hierarchy and in the unified one. A process that
leaves one of them (libvirt moves its guests) is still in another, so the union of all hierarchies is used.
"""

from __future__ import annotations

import os
import signal
import time
from functools import cache
from pathlib import Path

from stackwright.local.commands import LocalError
from stackwright.local.config import CGROUP

MOUNT = Path("/sys/fs/cgroup")
V2_CONTROLLERS = ("cpuset", "cpu", "io", "memory", "pids", "hugetlb")


@cache
def hierarchies() -> tuple[Path, ...]:
    """Mount points of all hierarchies, in the kernel's order."""
    found = []
    for line in Path("/proc/mounts").read_text().splitlines():
        _, target, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2") and target.startswith(str(MOUNT)):
            found.append(Path(target))
    return tuple(dict.fromkeys(found))


def unified() -> bool:
    """Whether cgroup v2 is the only system."""
    return (MOUNT / "cgroup.controllers").exists()


def primary() -> Path:
    """The hierarchy for callers that use only one."""
    return next((top for top in hierarchies() if top.name == "pids"), hierarchies()[0])


def ensure(group: str) -> None:
    """Create a cgroup and its parents, ready for processes."""
    for top in hierarchies():
        path = top
        for part in group.split("/"):
            _delegate(path)
            path = path / part
            if not path.exists():
                path.mkdir(exist_ok=True)
            _copy_cpuset(path)


def _delegate(path: Path) -> None:
    """Version 2: enable the controllers for children, which have only those of their parent's `subtree_control`."""
    if not unified():
        return
    offered = (path / "cgroup.controllers").read_text().split()
    passed = (path / "cgroup.subtree_control").read_text().split()
    for name in V2_CONTROLLERS:
        if name in offered and name not in passed:
            try:
                (path / "cgroup.subtree_control").write_text(f"+{name}")
            except OSError as refused:
                raise LocalError(
                    f"The cgroup {path} does not pass on the controller {name} ({refused.strerror}): "
                    "processes are in it. Inside a container, move them into a child cgroup first."
                ) from refused


def _copy_cpuset(path: Path) -> None:
    """Version 1: fill the cpuset of a new group, because no process can enter a group with an empty one."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        file = path / name
        if path.parent.name == "unified" or not (path.parent / "cpuset.cpus").exists() or unified():
            return
        if file.exists() and not file.read_text().strip():
            file.write_text((path.parent / name).read_text())


def groups(group: str = CGROUP) -> list[Path]:
    """Every directory of the group, deepest first."""
    found: list[Path] = []
    for top in hierarchies():
        if (top / group).is_dir():
            found += [Path(root) for root, _, _ in os.walk(top / group, topdown=False)]
    return found


def processes(group: str = CGROUP) -> set[int]:
    return {pid for path in groups(group) for pid in members(path)}


def members(path: Path) -> set[int]:
    """Processes of one group in one hierarchy, without 0, which stands for processes of another pid namespace."""
    try:
        return {int(pid) for pid in (path / "cgroup.procs").read_text().split()} - {0}
    except OSError:  # the group has been removed
        return set()


def names(group: str) -> set[str]:
    """Names of the groups below that have a process, directly or deeper. A container's group is named by its id."""
    top = primary() / group
    places = (Path(root) for root, _, _ in os.walk(top))
    return {name for place in places if members(place) for name in place.relative_to(top).parts}


def kill(group: str = CGROUP, *, limit: float = 10) -> set[int]:
    """Kill all processes, repeatedly, because some may have forked meanwhile. Returns those that remain."""
    end = time.monotonic() + limit
    while alive := {pid for pid in processes(group) if not _is_zombie(pid)}:
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > end:
            break
        time.sleep(0.05)
    return alive


def _is_zombie(pid: int) -> bool:
    """Whether the process has ended and its parent has not reaped it; signals have no effect on it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (OSError, IndexError):
        return True


def remove(group: str = CGROUP) -> list[Path]:
    """Remove empty groups. Returns the groups that are left."""
    for path in groups(group):
        try:
            path.rmdir()
        except OSError:
            continue
    return groups(group)
