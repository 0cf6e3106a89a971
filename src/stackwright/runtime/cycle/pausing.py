"""`stackwright pause`: paused objects are observed and reported as before, but not changed.

An object is paused by its own annotation or by that of an owner: a paused cloud pauses its services, their accounts and
releases. Failover and health continue, because their controllers are not `pausable`. Deletions of objects continue,
too. The deletion of agents of nodes that left the cloud is paused, but not reported as a waiting change. (The pause of
the kinds of Cluster API follows its contract: `controllers/infra/capi_pause.py`.)
"""

from __future__ import annotations

from dataclasses import replace

from stackwright.cloud.registry import BY_KIND
from stackwright.core.conditions import done
from stackwright.core.controller import Controller
from stackwright.core.errors import TransientError
from stackwright.core.objects import annotation, is_deleting
from stackwright.core.pausing import ANNOTATION, PAUSED_CONDITION, with_pause_ended
from stackwright.core.plan import DeleteAgents, Object, Plan
from stackwright.core.ports import Reader
from stackwright.runtime.cycle.report import after_failure

EVERY = 60.0  # requeue in seconds: not every container of a split operator observes the resume of a cloud
DEEPEST = 8  # levels of owners to follow: a cloud, its service, and objects of the service


class Paused(TransientError):
    """Actions wait until a user runs `stackwright resume`."""

    reason = PAUSED_CONDITION


def is_stackwright_paused(obj: Object) -> bool:
    """Whether the object itself has the pause annotation."""
    return annotation(obj, ANNOTATION) == "true"


async def stackwright_pause_cause(reader: Reader, obj: Object) -> str:
    """The annotation that pauses an object, as text; empty if it is not paused."""
    if is_deleting(obj):
        return ""
    current: Object | None = obj
    for _ in range(DEEPEST):  # owner references may form a cycle
        if current is None:
            break
        if is_stackwright_paused(current):
            return f"the annotation {ANNOTATION} of {current['kind']} {current['metadata']['name']}"
        current = await _owner(reader, current)
    return ""


async def _owner(reader: Reader, obj: Object) -> Object | None:
    meta = obj["metadata"]
    for reference in meta.get("ownerReferences") or ():
        if reference.get("controller") and (resource := BY_KIND.get(reference["kind"])) is not None:
            found = await reader.get(resource.KIND, (meta.get("namespace", ""), reference["name"]))
            if found is not None and found["metadata"].get("uid") == reference["uid"]:
                return {**found, "kind": reference["kind"]}
    return None


async def unless_paused(controller: Controller, plan: Plan, reader: Reader, obj: Object) -> Plan:
    """The plan, without actions if the object is paused; with the condition Paused if it is or was paused."""
    if not controller.pausable:
        return plan
    if cause := await stackwright_pause_cause(reader, obj):
        return held(controller, plan, obj, cause)
    return with_pause_ended(plan, obj)


def held(controller: Controller, plan: Plan, obj: Object, cause: str) -> Plan:
    """The plan without its actions. Ready reports the number of waiting changes, if any; Paused reports the cause."""
    told = replace(plan, actions=())
    if number := sum(not isinstance(action, DeleteAgents) for action in plan.actions):
        waits = f"{number} change{'s wait' if number > 1 else ' waits'}"
        told = after_failure(controller, plan, obj, Paused(f"Paused by {cause}; {waits} for `stackwright resume`"))
    if plan.conditions:
        told = replace(
            told, conditions=(*told.conditions, done(PAUSED_CONDITION, f"Paused by {cause}", PAUSED_CONDITION))
        )
    return replace(told, requeue=EVERY)
