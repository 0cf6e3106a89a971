"""A zone and a recordset: the API, central, a worker, mdns and the name server work together.

Designate shows a zone and its recordsets as ACTIVE when a worker has got their serial from the name server.
"""

from __future__ import annotations

from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import Stage

LIMIT = 60
ADDRESS = "192.0.2.53"  # of a network for documentation


def zone(stage: Stage) -> str:
    api = stage.user.names
    name = f"{stage.name}.example."
    made = api.create(name)
    stage.until("The zone is active", lambda: _unless_active(stage, made), LIMIT)
    recordset = api.add(made, f"www.{name}", ADDRESS)
    stage.until("The recordset is active", lambda: _unless_active(stage, made, recordset), LIMIT)
    api.delete(made)
    stage.until("The zone is deleted", lambda: _unless_gone(stage, made), LIMIT)
    return ""


def _unless_active(stage: Stage, zone: str, recordset: str = "") -> str | None:
    """The cause of the wait, or None. Raises Failed."""
    found = stage.user.names.state(zone, recordset)
    if found == "ERROR":
        raise Failed("The name server does not have it; the log of designate-worker has the cause")
    return None if found == "ACTIVE" else f"its status is {found}"


def _unless_gone(stage: Stage, zone: str) -> str | None:
    found = stage.user.names.state(zone)
    return None if found is None else f"its status is {found}"
