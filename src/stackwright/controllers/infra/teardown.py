"""Deletion of an object with OpenStack resources: all recorded or marked resources first, then the finalizer. Pure.

It finds them by the record and the marks, and needs neither the spec nor the objects that the spec references. It never
creates anything. If the credentials are lost, `spec.credentialsLostPolicy` ends the wait; it can be changed any time.
One response of Keystone that refuses them may be wrong, so it ends nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from stackwright.api.meta import Kind
from stackwright.controllers.infra.cloud_observation import AUTHENTICATION, CloudObservation, project
from stackwright.controllers.infra.managed_resources import (
    Owner,
    Progress,
    Record,
    is_gone,
    others_of,
    remove,
    twins_of,
    uncertain,
)
from stackwright.core.conditions import Condition, Wait, waiting
from stackwright.core.objects import has_finalizer
from stackwright.core.openstack.calls import CloudCall, removes
from stackwright.core.openstack.resource_types import TYPES, deletion_order
from stackwright.core.openstack.resources import CloudResource, ProjectView, ResourceKey, mark, marked_by
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
    if policy == "Orphan" or (policy == "Detach" and lost and seen.sure):
        return _detached(kind, seen, record)
    if seen.failure or seen.view is None or seen.cloud is None:
        stage = _held(seen.failure, out or _way_out(lost))
        return deletion_plan(stage, _status(seen, record, written(record)), requeue=seen.after or POLL)
    found = plan_removal(Owner(seen.cloud, seen.identity), *_without(record, seen.view, keeps))
    if not found.complete:
        stage = Condition(DELETED, False, found.reason or "Deleting", found.wait, found.waits_for)
        stage = _held(stage, out or _way_out(False)) if stage.blocked else stage
        # Deletions apart: the record keeps a resource until it is gone.
        calls = tuple(replace(call, stage=DELETED) if removes(call) else call for call in found.calls)
        return deletion_plan(stage, _status(seen, record, written(found.record)), calls)
    left = ", ".join(f"{thing.type} {thing.id}" for thing in found.copies)
    text = f"Left in the cloud, because they have our mark but may belong to another client: {left}"
    warning = (Warn(seen.obj, "LeftBehind", text),) if left else ()
    return Plan((*warning, Finalizer(kind, seen.obj, False)))


def plan_removal(owner: Owner, record: Record, view: ProjectView) -> Progress:
    """The next step of deleting all recorded or marked resources, by type in the order of `deletion_order`.

    Duplicates are deleted before the recorded resource, and copies of volumes by other clients are kept. The record is
    kept until then, because it distinguishes them. Without a record, all volumes that share a mark are kept: deleting
    them would delete ours and every copy.
    """
    others = others_of(owner, record, view)
    if twins := twins_of(owner, others):
        return _until_gone(record, twins, "duplicates")
    kept_for = {(t.type, t.id): key for key, t, is_kept in others if is_kept and TYPES[t.type].copied}
    copies, copied = kept_for.keys() | _several(owner, record, view), set(kept_for.values())
    names = {(key[0], id_): key for key, id_ in record.items()}
    found = {(t.type, t.id): t for t in view.things if not is_gone(t)}
    left = {key: t for key, t in found.items() if key in names or (marked_by(t, owner.uid) and key not in copies)}
    kept = {
        key: id_ for key, id_ in record.items() if (key[0], id_) in left or key in copied or not view.proves(key[0])
    }
    for what in deletion_order():
        if due := [thing for thing in left.values() if thing.type == what]:
            calls = (remove(owner, names.get((what, t.id), (what, t.name)), t) for t in due)
            return _until_gone(kept, tuple(call for call in calls if call is not None), _named(due))
    remaining = tuple(thing for key, thing in found.items() if key in copies)
    if not view.certain:
        return uncertain(Progress(kept, wait="Checking for remaining resources"), kept, view)
    return Progress(kept, copies=remaining)


def _until_gone(record: Record, calls: tuple[CloudCall, ...], what: str) -> Progress:
    wait = Wait(what, gone=True)
    return Progress(record, calls, wait=f"Waiting for {wait}", waits_for=wait)


def _several(owner: Owner, record: Record, view: ProjectView) -> set[tuple[str, str]]:
    """Volumes that share a mark without a record; one of them is ours."""
    known = {mark(owner.uid, key) for key in record}
    copied = [t for t in view.things if TYPES[t.type].copied]
    marks = Counter(t.mark for t in copied if marked_by(t, owner.uid))
    return {(t.type, t.id) for t in copied if marks[t.mark] > 1 and t.mark not in known}


def _named(things: list[CloudResource]) -> str:
    return ", ".join(f"{thing.type} {thing.name or thing.id}" for thing in things)


def deletion_plan(
    stage: Condition, status: Mapping[str, Any], actions: tuple[Action, ...] = (), requeue: float = POLL
) -> Plan:
    """A plan that reports a deletion in progress."""
    return staged([stage], dict(status), actions, requeue)


def _status(seen: CloudObservation, record: Record, written: Mapping[str, Any]) -> dict[str, Any]:
    kept = {"project": project(seen, record)} if seen.status.get("project") else {}
    return {**kept, **({"ready": False} if "ready" in seen.status else {}), **written}


def _without(record: Record, view: ProjectView, keeps: Collection[str]) -> tuple[Record, ProjectView]:
    kept = {(thing.type, thing.id) for thing in view.things if thing.facts.get("floating_ip_address") in keeps}
    things = tuple(thing for thing in view.things if (thing.type, thing.id) not in kept)
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
