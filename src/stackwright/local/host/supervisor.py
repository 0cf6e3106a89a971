"""The supervisor: one s6-svscan for the scan directory, in its own cgroup (docs/adr/0002-supervisor.md)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from stackwright.local.commands import succeeds
from stackwright.local.config import CGROUP, LocalCluster
from stackwright.local.host import cgroups, launch
from stackwright.local.waiting import wait_for

SUPERVISOR_CGROUP = f"{CGROUP}/system/supervisor"


def alive(cluster: LocalCluster) -> bool:
    """Whether s6-svscan runs: it reads a fifo, which cannot be opened for writing without a reader."""
    try:
        os.close(os.open(cluster.services / ".s6-svscan" / "control", os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def start(cluster: LocalCluster) -> None:
    """Start s6-svscan unless it runs. Earlier supervisors are killed first; the new one adopts their services."""
    if alive(cluster):
        return
    cgroups.ensure(SUPERVISOR_CGROUP)
    cgroups.kill(SUPERVISOR_CGROUP)
    cluster.services.mkdir(parents=True, exist_ok=True)
    cluster.logs.mkdir(parents=True, exist_ok=True)
    home = cluster.run / "supervisor"
    home.mkdir(parents=True, exist_ok=True)
    log = cluster.logs / "supervisor.log"
    groups = [str(top / SUPERVISOR_CGROUP) for top in cgroups.hierarchies()]
    document = {
        "argv": ["s6-svscan", "-c", "400", str(cluster.services)], "env": {}, "cgroups": groups, "home": "",
    }  # fmt: skip
    (home / "service.json").write_text(json.dumps(document))
    with log.open("ab") as out:
        subprocess.Popen(
            [sys.executable, "-I", "-S", launch.__file__],
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env=clean_environment(),
        )
    wait_for("the supervisor", lambda: None if alive(cluster) else "s6-svscan has not started", limit=10, log=log)


def clean_environment() -> dict[str, str]:
    """Environment of services, independent of the caller's shell except for proxy settings, which are the machine's."""
    kept = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", **kept}


def stop_all(cluster: LocalCluster) -> None:
    """Let the scanner stop all services in order. The caller kills the remaining processes by cgroup."""
    if alive(cluster):
        succeeds(["s6-svscanctl", "-t", cluster.services])
        end = time.monotonic() + 12
        while time.monotonic() < end and alive(cluster):
            time.sleep(0.05)
