"""Writes the status of a plan, only if it changed, and Events, only on transitions.

A controller always writes the same top-level status fields. If an action failed, its error becomes the message of
Ready, and the other fields keep their values, because those of the plan assume that its actions succeeded. An error of
an action with a stage is reported by this stage, and all other fields are written.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog

from stackwright.api.meta import Kind
from stackwright.core.conditions import DONE, READY, Condition, find, merged, stamp, steady, summary, with_progress
from stackwright.core.controller import Controller
from stackwright.core.errors import Conflict, TerminalError, TransientError, UndeclaredStatus
from stackwright.core.objects import generation, is_deleting
from stackwright.core.plan import Object, Plan
from stackwright.core.ports import Cluster

FORMER = "Progressing"  # of versions before Reconciling and Stalled
log = structlog.get_logger()


def after_failure(controller: Controller, plan: Plan, current: Object, error: TransientError | TerminalError) -> Plan:
    """The report of a plan after one of its actions failed."""
    status = current.get("status") or {}
    kept = {name: status[name] for name in plan.status if name in status}
    ready = failed(error)
    stages = [c for c in plan.conditions if c.type != READY]
    if not controller.owns_ready_of(current):  # the owner of Ready reads these conditions
        told = [replace(ready, type=c.type) if c.reason == DONE else c for c in stages]
        return Plan((), tuple(told), kept)
    if not plan.conditions and not is_deleting(current):
        return Plan(status=kept)  # the plan leaves the conditions as they are
    return Plan((), (ready, *(_unless_new(c, status) for c in stages)), kept)


def with_failed_stages(plan: Plan, failures: Mapping[str, TransientError | TerminalError]) -> Plan:
    """The report of a plan after actions with these stages failed; the same plan if none has a stage."""
    told = {stage: replace(failed(error), type=stage) for stage, error in failures.items() if stage}
    if not told:
        return plan
    ready = summary([*told.values(), *(c for c in plan.conditions if c.type == READY)])
    return replace(plan, conditions=tuple(ready if c.type == READY else told.get(c.type, c) for c in plan.conditions))


def failed(error: TransientError | TerminalError | Conflict) -> Condition:
    """Ready after an error of an external system."""
    return Condition(READY, False, error.reason, str(error))


def _unless_new(condition: Condition, status: Object) -> Condition:
    """A stage after a failed action: waiting if the plan would have completed it, otherwise unchanged."""
    if condition.reason != DONE:
        return condition
    before = next((c for c in status.get("conditions") or () if c["type"] == condition.type), None)
    if condition.status and not (before and before["status"] == "True"):
        return Condition(condition.type, False, "Waiting", "An earlier action failed; see the condition Ready")
    return condition


def status_of(plan: Plan, current: Object, now: float) -> dict[str, Any] | None:
    """The status to write, or None if the object already has it."""
    status = current.get("status") or {}
    wanted: dict[str, Any] = {name: _steadied(value) for name, value in plan.status.items()}
    if plan.conditions:
        before = status.get("conditions") or ()
        wanted["conditions"] = merged(with_progress(plan.conditions), before, generation(current), stamp(now))
        if any(c.type == READY for c in plan.conditions):
            wanted["observedGeneration"] = generation(current)
    return None if _says(status, wanted) else wanted


def _steadied(value: Any) -> Any:
    """The value with steady messages at any depth."""
    if isinstance(value, dict):
        return {
            name: steady(each) if name == "message" and isinstance(each, str) else _steadied(each)
            for name, each in value.items()
        }
    return [_steadied(each) for each in value] if isinstance(value, list | tuple) else value


def _says(status: Object, wanted: dict[str, Any]) -> bool:
    for name, value in wanted.items():
        if name == "conditions":
            have = {c["type"]: c for c in status.get("conditions") or ()}
            if any(have.get(c["type"]) != c for c in value):
                return False
        elif name not in status and value in ({}, "", []):
            continue
        elif status.get(name) != value:
            return False
    return True


async def report(
    controller: Controller, plan: Plan, current: Object, cluster: Cluster, now: float, manager: str = ""
) -> bool:
    """Write the status if it changed, as `manager` or the controller's manager; returns whether it was written."""
    wanted = status_of(plan, current, now)
    if wanted is None:
        return False
    meta = current["metadata"]
    identity = {"name": meta["name"], "namespace": meta.get("namespace", ""), "uid": meta["uid"]}
    body = {"apiVersion": controller.kind.api_version, "kind": controller.kind.kind, "metadata": identity}
    before, former = find(current), find(current, FORMER) if _ready_of(wanted) else None

    async def keep_as_fault(*conditions: Any) -> None:
        status = {"conditions": [each for each in conditions if each]}
        await cluster.apply_status(controller.kind, {**body, "status": status}, controller.fault_manager)

    # Both managers wrote `former`, so each may own a part of it. The API would refuse one part without the other.
    if former and manager:
        wanted["conditions"].append(former)
    elif former:
        await keep_as_fault(before, former)
    lacking = await _write(cluster, controller.kind, {**body, "status": wanted}, manager or controller.manager)
    if former and not manager:
        await keep_as_fault()
    if lacking and not _ready_of(wanted):
        await cluster.event(current, "OtherCRDs", _outdated_crds(lacking), True)
    await _tell(plan, before, current, cluster)
    return True


async def _write(cluster: Cluster, kind: Kind, body: Object, manager: str) -> list[str]:
    """Write a status without the fields that the CRD lacks, which Ready names.

    Returns these fields, because a status without Ready cannot name them.
    """
    lacking: list[str] = []
    while True:
        try:
            await cluster.apply_status(kind, {**body, "status": _without(body["status"], lacking)}, manager)
            return lacking
        except UndeclaredStatus as error:
            found = sorted({*error.fields} - {*lacking})
            if not found:
                raise
            log.warning("CRD of another version", kind=kind.kind, lacks=found)
            lacking += found


def _without(status: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """A status without these fields, which Ready names."""
    if not paths:
        return status
    fewer = copy.deepcopy(status)
    for path in paths:
        *above, name = path.split(".")
        place: Any = fewer
        for part in above:
            place = place.get(part) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.pop(name, None)
    if (ready := _ready_of(fewer)) is not None:
        ready["message"] = "; ".join(text for text in (ready.get("message"), _outdated_crds(paths)) if text)
    return fewer


def _ready_of(status: dict[str, Any]) -> dict[str, Any] | None:
    return next((each for each in status.get("conditions") or () if each["type"] == READY), None)


def _outdated_crds(paths: list[str]) -> str:
    names = ", ".join(sorted({path.rpartition(".")[2] for path in paths}))
    lack = f"The installed CRDs have another version than the operator and lack the fields {names}"
    return f"{lack}: apply what `stackwright crds` prints"


async def _tell(plan: Plan, before: Any, current: Object, cluster: Cluster) -> None:
    """Record an Event if Ready changed, or is blocked for a new reason."""
    ready = next((c for c in plan.conditions if c.type == READY), None)
    if ready is None:
        return
    was_ready = bool(before and before["status"] == "True")
    if ready.status and not was_ready:
        await cluster.event(current, "Ready", f"{current['kind']} is ready", False)
    elif ready.blocked and not (before and before["reason"] == ready.reason):
        await cluster.event(current, ready.reason, steady(ready.message), True)
    elif was_ready and not ready.status:
        await cluster.event(current, "NotReady", steady(ready.message), True)
