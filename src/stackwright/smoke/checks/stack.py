"""A stack without resources of other services: engines, their database and the bus work together."""

from __future__ import annotations

from typing import Any

from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import Stage

LIMIT = 60
LENGTH = 24
TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2021-04-16",
    "resources": {"text": {"type": "OS::Heat::RandomString", "properties": {"length": LENGTH}}},
    "outputs": {"text": {"value": {"get_attr": ["text", "value"]}}},
}


def stack(stage: Stage) -> str:
    api = stage.user.orchestration
    id_ = api.create(stage.name, TEMPLATE)
    stage.until("The stack is complete", lambda: _unless(stage, id_, "CREATE_COMPLETE"), LIMIT)
    found = api.stack(id_)
    text = found.outputs.get("text", "") if found else ""
    if len(text) != LENGTH:
        raise Failed(f"The output of the stack has {len(text)} characters instead of {LENGTH}")
    api.delete(id_)
    stage.until("The stack is deleted", lambda: _unless(stage, id_, ""), LIMIT)
    return ""


def _unless(stage: Stage, id_: str, wanted: str) -> str | None:
    """The cause of the wait for a status, or None; an empty status is that of a deleted stack. Raises Failed."""
    found = stage.user.orchestration.stack(id_)
    if found and found.status.endswith("_FAILED"):
        raise Failed(f"The stack is {found.status}: {found.reason or 'the cloud reports no cause'}")
    if (found.status if found else "") == wanted:
        return None
    if found is None:
        raise Failed("The stack was deleted by another client")
    return f"the stack is {found.status}"
