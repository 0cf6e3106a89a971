"""Long-running programs under the supervision of s6 (docs/adr/0002-supervisor.md).

A service is a folder in the scan directory: `service.json` has the command, `run` is a copy of `launch.py`, `log/` is
its `s6-log`, which rotates. `ensure` is level-triggered: it compares the folder with the wanted state, and restarts a
service only if they differ.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from stackwright.local.commands import LocalError, run, succeeds
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups, launch
from stackwright.local.waiting import wait_for

STOP_LIMIT_MS = 10000


@dataclass(frozen=True)
class Service:
    """One supervised program."""

    name: str
    argv: tuple[str, ...]
    cgroup: str
    env: dict[str, str] = field(default_factory=dict)
    inputs: str = ""
    """Digest of the files that it reads at its start; a change restarts it."""

    def spec(self) -> str:
        document = {
            "argv": list(self.argv),
            "env": self.env,
            "cgroups": [str(top / self.cgroup) for top in cgroups.hierarchies()],
            # Processes in this cgroup at a start are leftovers of the service. Only one hierarchy is checked, because
            # containerd's shims leave its cgroup in all hierarchies of version 1, but not in the unified hierarchy.
            "home": str(cgroups.primary() / self.cgroup),
            "inputs": self.inputs,
        }
        return json.dumps(document, indent=2) + "\n"


@dataclass(frozen=True)
class Status:
    """State of a service by s6."""

    name: str
    up: bool
    pid: int | None
    seconds: int
    """Seconds since it started or ended."""
    since: float
    """Time of its start or end by the clock. If the clock was set since, the earlier of the old and the new reading."""


def folder(cluster: LocalCluster, name: str) -> Path:
    return cluster.services / name


def log_file(cluster: LocalCluster, name: str) -> Path:
    return cluster.logs / name / "current"


def names(cluster: LocalCluster) -> list[str]:
    if not cluster.services.is_dir():
        return []
    return sorted(path.name for path in cluster.services.iterdir() if (path / "service.json").exists())


def ensure(cluster: LocalCluster, *wanted: Service) -> list[str]:
    """Bring services into the wanted state. Returns the names of those that were started or restarted."""
    changed = [service for service in wanted if not _is_same(cluster, service)]
    for service in reversed(changed):  # later services need the earlier ones to end cleanly
        end(folder(cluster, service.name))
    for service in wanted:
        cgroups.ensure(service.cgroup)
    for service in changed:
        _write(cluster, service)
    if changed:
        run(["s6-svscanctl", "-an", cluster.services])
    for service in wanted:
        place = folder(cluster, service.name)
        # A user may have stopped it by hand, and a starting supervisor misses some commands.
        wait_for(f"the supervisor of {service.name}", partial(_told_up, place), limit=10)
        log = log_file(cluster, service.name)
        wait_for(service.name, partial(_unlaunched, cluster, service.name), limit=30, log=log)
    return [service.name for service in changed]


def is_current(cluster: LocalCluster, service: Service) -> bool:
    """Whether the service runs in the wanted state."""
    return _is_same(cluster, service) and status(cluster, service.name).up


def _is_same(cluster: LocalCluster, service: Service) -> bool:
    place = folder(cluster, service.name)
    try:
        same = (place / "service.json").read_text() == service.spec() and (place / "run").read_text() == _run_text()
    except OSError:
        return False
    return same and _supervised(place) is None


def _supervised(place: Path) -> str | None:
    return None if succeeds(["s6-svok", place]) else "s6-supervise has not started"


def _told_up(place: Path) -> str | None:
    return None if succeeds(["s6-svc", "-u", place]) else "s6-supervise does not listen yet"


def _unlaunched(cluster: LocalCluster, name: str) -> str | None:
    return None if status(cluster, name).up else "it was not started, or its predecessor is still running"


def _run_text() -> str:
    return f"#!{sys.executable} -IS\n" + Path(launch.__file__).read_text()


def _write(cluster: LocalCluster, service: Service) -> None:
    """Write the folder of a service; a new one is renamed into place, so that the scanner sees only complete ones."""
    place = folder(cluster, service.name)
    logs = cluster.logs / service.name
    logs.mkdir(parents=True, exist_ok=True)
    target = place if place.exists() else cluster.run / f"{service.name}.new"
    (target / "log").mkdir(parents=True, exist_ok=True)
    _program(target / "run", _run_text())
    (target / "service.json").write_text(service.spec())
    (target / "timeout-kill").write_text(str(STOP_LIMIT_MS))
    _program(target / "log" / "run", _run_text())
    (target / "log" / "service.json").write_text(log_spec(logs))
    if target != place:
        target.rename(place)


def log_spec(folder: Path) -> str:
    """Spec of a logger: time stamps, files of 5 MB, three old files. It stays in the supervisor's cgroup."""
    argv = ["s6-log", "-b", "--", "T", "n3", "s5000000", str(folder)]
    return json.dumps({"argv": argv, "env": {}, "cgroups": [], "home": ""})


def _program(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.chmod(0o755)
    new.replace(path)


def status(cluster: LocalCluster, name: str) -> Status:
    place = folder(cluster, name)
    try:
        words = run(["s6-svstat", "-o", "up,pid,updownfor", place], limit=10).split()
        launched = (place / "launched").read_text()
    except (LocalError, OSError):
        return Status(name, False, None, 0, time.time())
    up, by_clock = words[0] == "true" and words[1] == launched, int(words[2])
    pid = int(words[1]) if up else None
    seconds = by_clock if pid is None else _age(pid, by_clock)
    return Status(name, up, pid, seconds, time.time() - max(seconds, by_clock))


def _age(pid: int, otherwise: int) -> int:
    """Seconds since the start of a process, by the monotonic boot clock, which s6 does not use."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return otherwise
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK"))


def order_stop(cluster: LocalCluster, name: str) -> None:
    """Stop a service without waiting for it."""
    succeeds(["s6-svc", "-d", folder(cluster, name)])


def order_start(cluster: LocalCluster, name: str) -> None:
    succeeds(["s6-svc", "-u", folder(cluster, name)])


def restart_no_more(cluster: LocalCluster, name: str) -> None:
    """Let the service run, but do not restart it when it ends."""
    succeeds(["s6-svc", "-O", folder(cluster, name)])


def end(place: Path) -> None:
    """Stop a service and wait; s6 kills it after STOP_LIMIT_MS (which it would not do for a restart)."""
    if _supervised(place) is None:
        limit = STOP_LIMIT_MS + 2000
        succeeds(["s6-svc", "-wd", "-T", str(limit), "-d", place], limit=limit / 1000 + 5)


def stop(cluster: LocalCluster, name: str) -> None:
    """Stop a service and remove its folder."""
    place = folder(cluster, name)
    if not place.exists():
        return
    end(place)
    gone = cluster.run / f"{name}.removed-{time.time_ns()}"
    place.rename(gone)
    succeeds(["s6-svscanctl", "-an", cluster.services])
    for part in (gone, gone / "log"):
        succeeds(["s6-svc", "-x", "-d", part])
    shutil.rmtree(gone, ignore_errors=True)
