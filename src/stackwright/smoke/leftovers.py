"""Cleaning up: everything in the project, whoever made it and however its maker ended.

A project says in its description who works in it. One whose process is gone, or that is old, is swept by the next run.
"""

from __future__ import annotations

import os
import re
import socket
import time

from stackwright.core.openstack.tenant import CloudError, Project
from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import Stage

PREFIX = "smoke-"
LIMIT = 240
OLD = 2 * 3600
NOTE = re.compile(r"stackwright smoke: process (\d+) on (\S+) since (\d+)$")


def note() -> str:
    return f"stackwright smoke: process {os.getpid()} on {socket.gethostname()} since {int(time.time())}"


def is_abandoned(project: Project, alive: bool, host: str, now: float) -> bool:
    """`alive`: whether this machine has the process that the project names. Foreign projects are nobody's to sweep."""
    match = NOTE.match(project.note)
    if match is None:
        return False
    return now - int(match[3]) > OLD or (match[2] == host and not alive)


def sweep_abandoned(stage: Stage) -> list[str]:
    """Names of the projects of earlier runs that were swept."""
    swept = []
    for project in stage.projects.named(PREFIX):
        if is_abandoned(project, _is_alive(project), socket.gethostname(), time.time()):
            stage.report(f"sweeping what {project.name} left")
            remove(stage, project)
            swept.append(project.name)
    return swept


def _is_alive(project: Project) -> bool:
    match = NOTE.match(project.note)
    if match is None:
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def remove(stage: Stage, project: Project) -> None:
    """All of a project, the project itself last. Raises Failed that says what remains."""
    try:
        stage.until(f"Removal of {project.name}", lambda: _pass(stage, project), LIMIT)
    except (Failed, CloudError) as error:
        raise Failed(f"{error}\nWhat remains is swept by the next `stackwright smoke`.") from None


def _pass(stage: Stage, project: Project) -> str | None:
    """Delete what can go now; None when nothing is left, else what it waits for."""
    found = stage.projects.leftovers(project)
    # Under a server nothing goes: its port and image are in use until it is gone.
    servers = [thing for thing in found if thing.kind == "server"]
    for thing in servers or found:
        if not thing.going:
            stage.projects.delete(thing)
    return f"{servers[0]} is being deleted" if servers else None
