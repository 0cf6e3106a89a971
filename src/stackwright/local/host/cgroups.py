"""Cgroups: how the cluster's processes are found again, whatever they did to hide.

Everything we start is below `/stackwright`, in every v1 hierarchy and in the unified one. A process that leaves one
of them (libvirt moves its guests) is still in another, so the union of all is asked.
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
    """Mount points of all hierarchies; the order is the kernel's."""
    found = []
    for line in Path("/proc/mounts").read_text().splitlines():
        _, target, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2") and target.startswith(str(MOUNT)):
            found.append(Path(target))
    return tuple(dict.fromkeys(found))


def unified() -> bool:
    """True where cgroup v2 is the only system."""
    return (MOUNT / "cgroup.controllers").exists()


def primary() -> Path:
    """The one hierarchy to ask where one must be enough."""
    return next((top for top in hierarchies() if top.name == "pids"), hierarchies()[0])


def ensure(group: str) -> None:
    """Make a cgroup, and each one above it, ready to take processes."""
    for top in hierarchies():
        path = top
        for part in group.split("/"):
            _delegate(path)
            path = path / part
            if not path.exists():
                path.mkdir(exist_ok=True)
            _copy_cpuset(path)


def _delegate(path: Path) -> None:
    """Version 2: children have a controller only if the parent passes it on."""
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
    """Version 1: a new cpuset is empty, and no process can enter an empty one."""
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
    """The processes of one group of one hierarchy. Zero stands for those of another pid namespace."""
    try:
        return {int(pid) for pid in (path / "cgroup.procs").read_text().split()} - {0}
    except OSError:  # the group vanished, which is what we want in the end
        return set()


def names(group: str) -> set[str]:
    """Names of the groups below that have a process, in themselves or deeper. That of a container is its id."""
    top = primary() / group
    places = (Path(root) for root, _, _ in os.walk(top))
    return {name for place in places if members(place) for name in place.relative_to(top).parts}


def kill(group: str = CGROUP, *, limit: float = 10) -> set[int]:
    """Kill all at once, again and again: some may have forked meanwhile. Returns who is left."""
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
    """A dead process whose parent has not asked yet; no signal changes it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (OSError, IndexError):
        return True


def remove(group: str = CGROUP) -> list[Path]:
    """Remove empty groups. Returns what is left."""
    for path in groups(group):
        try:
            path.rmdir()
        except OSError:
            continue
    return groups(group)
