"""(OpenStackDeployment, its service objects) → Plan. Pure.

All service objects are written at once; each then waits for what it needs by itself and says so. The cloud is Ready
when all of them are, and mirrors the worst of them until then.
"""

from __future__ import annotations

from typing import Any

from stackwright.api.deployment import OpenStackDeploymentSpec
from stackwright.controllers.cloud.objects import service_object, wanted_services
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.cloud.validate import parse
from stackwright.core.conditions import Condition, blocked, done, find, is_ready, summary, waiting, why_not_ready
from stackwright.core.objects import CLOUD, ensure, is_deleting, key_of, label
from stackwright.core.plan import Action, Delete, Object, Plan
from stackwright.services.declaration import Service
from stackwright.services.registry import BY_KIND


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()  # what it owns goes with it
    if (seen.obj.get("spec") or {}).get("draft") is True:
        return _stopped(Condition("Ready", False, "Draft", "spec.draft is true: the operator leaves this object alone"))
    if seen.others:
        text = f"There is another OpenStackDeployment here, {seen.others[0]}; use one a namespace and delete this one"
        return _stopped(blocked("Ready", "AnotherCloud", text))
    spec, errors = parse(seen.obj)
    if spec is None:
        return _stopped(blocked("Ready", "InvalidSpec", "; ".join(errors)))
    return _converge(seen, spec)


def _stopped(condition: Condition) -> Plan:
    progressing = Condition("Progressing", False, condition.reason, condition.message)
    return Plan(conditions=(condition, progressing), status={"progress": "", "version": "", "services": {}})


def _converge(seen: Observed, spec: OpenStackDeploymentSpec) -> Plan:
    wanted = wanted_services(spec)
    actions: list[Action] = []
    stages: list[Condition] = []
    states: dict[str, Any] = {}
    for declared in wanted:
        current = seen.services.get((declared.kind.kind, declared.name))
        needed = ensure(declared.kind, service_object(seen.obj, spec, declared), current)
        actions += needed
        stages.append(_stage(declared, current, changed=bool(needed)))
        states[declared.service] = _state(current, spec)
    actions += _surplus(seen, {(d.kind.kind, d.name) for d in wanted})
    stages += _nodes(seen.obj)
    ready = sum(1 for stage in stages[: len(wanted)] if stage.status)
    return Plan(
        tuple(actions),
        (*summary(stages), *stages[: len(wanted)]),
        {"progress": f"{ready}/{len(wanted)}", "version": spec.openstack_version, "services": states},
    )


def _stage(declared: Service, current: Object | None, *, changed: bool) -> Condition:
    type_ = declared.kind.kind
    if changed or current is None:
        return waiting(type_, f"{type_} is about to be brought up to date", "Applying")
    if is_deleting(current):
        return waiting(type_, f"Waiting for the old {type_} to be removed", "Deleting")
    if is_ready(current):
        return done(type_, reason="Ready")
    entry = find(current) or {}
    return Condition(type_, False, str(entry.get("reason") or "Waiting"), f"{type_}: {why_not_ready(current)}")


def _state(current: Object | None, spec: OpenStackDeploymentSpec) -> dict[str, str]:
    status = (current or {}).get("status") or {}
    ready = is_ready(current)
    return {
        "state": str(status.get("state") or "WAITING"),
        "openstack_version": str(status.get("release") or ""),
        "message": "" if ready else why_not_ready(current),
    }


def _surplus(seen: Observed, wanted: set[tuple[str, str]]) -> list[Action]:
    """Service objects of this cloud that it no longer wants."""
    mine = seen.obj["metadata"]["name"]
    return [
        Delete(BY_KIND[kind].kind, key_of(found), "no longer in preset or features.services")
        for (kind, name), found in sorted(seen.services.items())
        if (kind, name) not in wanted and label(found, CLOUD) == mine and not is_deleting(found)
    ]


def _nodes(obj: Object) -> list[Condition]:
    """The node controller's condition, when it is bad: a lost node explains what else is wrong."""
    entry = find(obj, "Nodes")
    if entry and entry["status"] == "False":
        return [Condition("Nodes", False, str(entry["reason"]), str(entry["message"]))]
    return []
