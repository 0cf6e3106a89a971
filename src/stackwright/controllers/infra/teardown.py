"""Deletion of an object with OpenStack resources: all recorded or marked resources first, then the finalizer. Pure.

It needs neither the spec nor the objects that the spec references, and never creates anything. If the credentials are
lost, `spec.credentialsLostPolicy` ends the wait; it can be changed at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from stackwright.api.meta import Kind
from stackwright.controllers.infra.cloud_observation import AUTHENTICATION, CloudObservation
from stackwright.controllers.infra.managed_resources import Owner, Record, plan_removal
from stackwright.core.conditions import Condition, waiting
from stackwright.core.objects import has_finalizer
from stackwright.core.openstack.calls import removals_apart
from stackwright.core.openstack.resources import ProjectView, ResourceKey
from stackwright.core.plan import Action, Finalizer, Plan, Warn, staged

DELETED = "Deleted"
POLL = 15.0  # seconds between reconciles while waiting
Written = Callable[[Mapping[ResourceKey, Any]], Mapping[str, Any]]


def tear_down(
    kind: Kind, seen: CloudObservation, record: Record, written: Written, *, keeps: Collection[str] = (), out: str = ""
) -> Plan:
    """The plan that deletes the resources of an object.

    written  converts a record to the status fields that hold it
    keeps    addresses of floating IPs that belong to the user
    out      the setting to name if the cloud is unreachable; by default a credentialsLostPolicy
    """
    if not has_finalizer(seen.obj):
        return Plan()
    policy = seen.spec.get("credentialsLostPolicy") or "Wait"
    lost = seen.failure is not None and seen.failure.type == AUTHENTICATION
    if policy == "Orphan" or (policy == "Detach" and lost):
        return _detached(kind, seen, record)
    if seen.failure or seen.view is None or seen.cloud is None:
        stage = _held(seen.failure, out or _way_out(lost))
        return deletion_plan(stage, _status(seen, written(record)), requeue=seen.after or POLL)
    found = plan_removal(Owner(seen.cloud, seen.identity), *_without(record, seen.view, keeps))
    if not found.complete:
        stage = Condition(DELETED, False, "Deleting", found.wait, found.waits_for)
        return deletion_plan(stage, _status(seen, written(found.record)), removals_apart(DELETED, found.calls))
    left = ", ".join(f"{thing.what} {thing.id}" for thing in found.copies)
    text = f"Left in the cloud, because they have our mark but may belong to another client: {left}"
    warning = (Warn(seen.obj, "LeftBehind", text),) if left else ()
    return Plan((*warning, Finalizer(kind, seen.obj, False)))


def deletion_plan(
    stage: Condition, status: Mapping[str, Any], actions: tuple[Action, ...] = (), requeue: float = POLL
) -> Plan:
    """A plan that reports a deletion in progress."""
    return staged([stage], dict(status), actions, requeue)


def _status(seen: CloudObservation, written: Mapping[str, Any]) -> dict[str, Any]:
    kept = {"project": seen.status["project"]} if seen.status.get("project") else {}
    return {**kept, **({"ready": False} if "ready" in seen.status else {}), **written}


def _without(record: Record, view: ProjectView, keeps: Collection[str]) -> tuple[Record, ProjectView]:
    kept = {(thing.what, thing.id) for thing in view.things if thing.facts.get("floating_ip_address") in keeps}
    things = tuple(thing for thing in view.things if (thing.what, thing.id) not in kept)
    return {key: id_ for key, id_ in record.items() if (key[0], id_) not in kept}, replace(view, things=things)


def _way_out(lost: bool) -> str:
    """The policy to suggest: Detach if the credentials are lost, Orphan if the cloud does not respond."""
    return f"spec.credentialsLostPolicy to {'Detach' if lost else 'Orphan'}"


def _held(failure: Condition | None, out: str) -> Condition:
    cause = failure.message if failure else "spec.identityRef contains no credentials"
    text = f"{cause}; or set {out}, which keeps the resources in the cloud"
    return waiting(DELETED, text, failure.reason if failure else "CredentialsMissing")


def _detached(kind: Kind, seen: CloudObservation, record: Record) -> Plan:
    left = ", ".join(f"{what} {id_}" for (what, _), id_ in record.items())
    warning = (Warn(seen.obj, "LeftBehind", f"Left in the cloud: {left}"),) if left else ()
    return Plan((*warning, Finalizer(kind, seen.obj, False)))
