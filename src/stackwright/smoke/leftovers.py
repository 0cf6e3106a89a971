"""Cleanup of everything in a run's project, also after a run that was killed.

The description of a project names the process that uses it. If the process has ended, or the project is old, the next
run deletes the project.
"""

from __future__ import annotations

import os
import re
import socket
import time

from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import Stage
from stackwright.smoke.tenant import CloudError, Project

PREFIX = "smoke-"
LIMIT = 240
OLD = 2 * 3600
FIRST = ("stack", "server")
NOTE = re.compile(r"stackwright smoke: process (\d{1,9}) on (\S+) since (\d{1,12})$")


def note() -> str:
    return f"stackwright smoke: process {os.getpid()} on {socket.gethostname()} since {int(time.time())}"


def is_abandoned(project: Project, alive: bool, host: str, now: float) -> bool:
    """`alive`: whether the process in the project's note runs on this machine. A project without a note is kept."""
    match = NOTE.match(project.note)
    if match is None:
        return False
    return now - int(match[3]) > OLD or (match[2] == host and not alive)


def sweep_abandoned(stage: Stage) -> list[str]:
    """Delete abandoned projects of earlier runs; returns their names."""
    swept = []
    for project in stage.projects.named(PREFIX):
        if is_abandoned(project, _is_alive(project), socket.gethostname(), time.time()):
            stage.report(f"deleting remains of {project.name}")
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
    """Delete everything in a project, then the project. Raises Failed, which names the remaining resources."""
    try:
        stage.until(f"Removal of {project.name}", lambda: _pass(stage, project), LIMIT)
    except (Failed, CloudError) as error:
        raise Failed(f"{error}\nThe next `stackwright smoke` deletes the remains.") from None


def _pass(stage: Stage, project: Project) -> str | None:
    """Delete what can be deleted now. Returns the cause of a wait, or None if nothing remains."""
    found = stage.projects.leftovers(project)
    # Stacks are deleted first, with what they contain, then servers, because they use their ports and images.
    first = next((some for kind in FIRST if (some := [thing for thing in found if thing.kind == kind])), [])
    for thing in first or found:
        if not thing.going:
            stage.projects.delete(thing)
    return f"{first[0]} is being deleted" if first else None
