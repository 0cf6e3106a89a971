"""Long-running programs, kept alive by s6 (docs/adr/0002-supervisor.md).

A service is a folder in the scan directory: `service.json` says what to run, `run` is a copy of `launch.py`, `log/` is
its `s6-log`, which rotates. `ensure` is level-triggered: it compares the folder with what is wanted, and restarts a
service only when they differ.
"""

from __future__ import annotations

import json
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
    """One program to keep alive."""

    name: str
    argv: tuple[str, ...]
    cgroup: str
    env: dict[str, str] = field(default_factory=dict)
    inputs: str = ""
    """Digest of the files it reads at its start: when they change, it is restarted."""

    def spec(self) -> str:
        document = {
            "argv": list(self.argv),
            "env": self.env,
            "cgroups": [str(top / self.cgroup) for top in cgroups.hierarchies()],
            # Whoever is here when it starts is its leftover. Asked in one hierarchy only: containerd's shims leave its
            # cgroup in all of version 1, but not in the unified one beside them.
            "home": str(cgroups.primary() / self.cgroup),
            "inputs": self.inputs,
        }
        return json.dumps(document, indent=2) + "\n"


@dataclass(frozen=True)
class Status:
    """What s6 knows of a service."""

    name: str
    up: bool
    pid: int | None
    seconds: int
    """Since it started, or since it ended."""


def folder(cluster: LocalCluster, name: str) -> Path:
    return cluster.services / name


def log_file(cluster: LocalCluster, name: str) -> Path:
    return cluster.logs / name / "current"


def names(cluster: LocalCluster) -> list[str]:
    if not cluster.services.is_dir():
        return []
    return sorted(path.name for path in cluster.services.iterdir() if (path / "service.json").exists())


def ensure(cluster: LocalCluster, *wanted: Service) -> list[str]:
    """Bring services into the wanted state. Returns the names of those which were started or restarted."""
    changed = [service for service in wanted if not _is_same(cluster, service)]
    for service in reversed(changed):  # what was started last needs the others to end well
        end(folder(cluster, service.name))
    for service in wanted:
        cgroups.ensure(service.cgroup)
    for service in changed:
        _write(cluster, service)
    if changed:
        run(["s6-svscanctl", "-an", cluster.services])
    for service in wanted:
        place = folder(cluster, service.name)
        # Someone may have stopped it by hand; and a supervisor that is starting listens, and for a moment not.
        wait_for(f"the supervisor of {service.name}", partial(_told_up, place), limit=10)
        log = log_file(cluster, service.name)
        wait_for(service.name, partial(_unlaunched, cluster, service.name), limit=30, log=log)
    return [service.name for service in changed]


def is_current(cluster: LocalCluster, service: Service) -> bool:
    """It runs, and as it is wanted."""
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
    return None if status(cluster, name).up else "it has not been started, or its predecessor has not ended"


def _run_text() -> str:
    return f"#!{sys.executable} -IS\n" + Path(launch.__file__).read_text()


def _write(cluster: LocalCluster, service: Service) -> None:
    """Built aside and renamed, so that the scanner never sees half a service."""
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
    """A time stamp on each line, files of 5 MB, three old ones kept. It stays in the supervisor's cgroup."""
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
        return Status(name, False, None, 0)
    up = words[0] == "true" and words[1] == launched
    return Status(name, up, int(words[1]) if up else None, int(words[2]))


def order_stop(cluster: LocalCluster, name: str) -> None:
    """Send a service down without waiting for it."""
    succeeds(["s6-svc", "-d", folder(cluster, name)])


def order_start(cluster: LocalCluster, name: str) -> None:
    succeeds(["s6-svc", "-u", folder(cluster, name)])


def restart_no_more(cluster: LocalCluster, name: str) -> None:
    """It may go on, but when it ends, it ends."""
    succeeds(["s6-svc", "-O", folder(cluster, name)])


def end(place: Path) -> None:
    """Ask it to end, and wait; s6 kills it when it takes too long (which it would not do on a mere restart)."""
    if _supervised(place) is None:
        limit = STOP_LIMIT_MS + 2000
        succeeds(["s6-svc", "-wd", "-T", str(limit), "-d", place], limit=limit / 1000 + 5)


def stop(cluster: LocalCluster, name: str) -> None:
    """Stop one service for good and forget it."""
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
