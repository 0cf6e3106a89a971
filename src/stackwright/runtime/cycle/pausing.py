"""The effect of a pause: the plan of a paused object has no actions. `core/pausing.py` has the kinds of pauses.

`stackwright pause` pauses an object by its own annotation or by that of an owner: a paused cloud pauses its services,
their accounts and releases. Failover and health continue, because their controllers declare no pause. The deletion of
agents of nodes that left the cloud is paused, but not reported as a waiting change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stackwright.cloud.registry import BY_KIND
from stackwright.core.conditions import READY, copied, find, waiting
from stackwright.core.controller import Controller
from stackwright.core.errors import TransientError
from stackwright.core.objects import has_finalizer, is_deleting
from stackwright.core.pausing import CLUSTER_API, PAUSED, STACKWRIGHT, paused, with_pause_ended
from stackwright.core.plan import DeleteAgents, Object, Plan
from stackwright.core.ports import Reader
from stackwright.runtime.cycle.report import after_failure

EVERY = 60.0  # requeue in seconds: not every container of a split operator observes the resume of a cloud
POLL = 15.0  # the same for the kinds of Cluster API, whose Clusters are not watched
DEEPEST = 8  # levels of owners to follow: a cloud, its service, and objects of the service
_REPORTED = ("conditions", "observedGeneration")  # fields that the report writes itself


class Paused(TransientError):
    """Actions wait until a user runs `stackwright resume`."""

    reason = PAUSED


async def decided(
    controller: Controller, seen: Any, reader: Reader, decide: Callable[[Any], Plan], *, resumed: bool = False
) -> Plan:
    """The plan, without actions if the object is paused; with the condition Paused if it is or was paused.

    resumed  ignore `stackwright pause`
    """
    if controller.pause is None or (resumed and controller.pause is STACKWRIGHT):
        return decide(seen)
    if controller.pause is CLUSTER_API:
        return unchanged(seen.obj, seen.paused) if seen.paused else with_pause_ended(decide(seen), seen.obj)
    plan = decide(seen)
    if cause := await stackwright_cause(reader, seen.obj):
        return held(controller, plan, seen.obj, cause)
    return with_pause_ended(plan, seen.obj)


async def stackwright_cause(reader: Reader, obj: Object) -> str:
    """The annotation that pauses an object, as text; empty if it is not paused."""
    if is_deleting(obj):
        return ""
    current: Object | None = obj
    for _ in range(DEEPEST):  # owner references may form a cycle
        if current is None:
            break
        if STACKWRIGHT.is_set(current):
            return STACKWRIGHT.of(current)
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


def held(controller: Controller, plan: Plan, obj: Object, cause: str) -> Plan:
    """The plan without its actions. Ready reports the number of waiting changes, if any; Paused reports the cause."""
    told = replace(plan, actions=())
    text = f"Paused by {cause}"
    if number := sum(not isinstance(action, DeleteAgents) for action in plan.actions):
        waits = f"{number} change{'s wait' if number > 1 else ' waits'}"
        told = after_failure(controller, plan, obj, Paused(f"{text}; {waits} for `stackwright resume`"))
    if plan.conditions:
        told = replace(told, conditions=(*told.conditions, paused(text)))
    return replace(told, requeue=EVERY)


def unchanged(obj: Object, cause: str) -> Plan:
    """A plan without actions that keeps the status and adds the condition Paused with the cause."""
    text = f"Paused by {cause}"
    leaves = is_deleting(obj) and has_finalizer(obj)
    if leaves:
        text = f"{text}; it is being deleted, and its resources in OpenStack are kept until the pause ends"
    status = obj.get("status") or {}
    before = [copied(entry) for entry in status.get("conditions") or () if entry["type"] != PAUSED]
    if leaves or (find(obj) or {}).get("reason", PAUSED) == PAUSED:
        before = [waiting(READY, text, PAUSED), *(each for each in before if each.type != READY)]
    kept = {name: value for name, value in status.items() if name not in _REPORTED}
    if leaves and "ready" in kept:
        kept["ready"] = False
    return Plan((), (*before, paused(text)), kept, POLL)
