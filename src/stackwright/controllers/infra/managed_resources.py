"""The next step of creating the OpenStack resources of an object. Pure.

All kinds with OpenStack resources use it. Each resource has a key. A step either records resources that exist already
or creates one resource, whose id is in the status before the next step begins. The module `teardown` deletes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stackwright.core.conditions import Wait
from stackwright.core.openstack.calls import DUPLICATE, CloudCall, PendingId
from stackwright.core.openstack.duplicates import is_ambiguous, is_kept
from stackwright.core.openstack.errors import Reason
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import (
    ANSWERED,
    SERVER_KEY,
    CloudRef,
    CloudResource,
    ProjectView,
    ResourceKey,
    mark,
)
from stackwright.core.plan import Key

Record = Mapping[ResourceKey, str]
Others = Sequence[
    tuple[ResourceKey, CloudResource, bool]
]  # key, another resource with its mark, whether it is kept because it may not be a duplicate


def is_gone(thing: CloudResource) -> bool:
    """Whether a listed resource is deleted."""
    return thing.state in TYPES[thing.type].gone


def written(record: Mapping[ResourceKey, Any]) -> dict[str, Any]:
    """The status field that holds a record; a value may still be a PendingId."""
    return {"resources": [{"type": what, "name": name, "id": id_} for (what, name), id_ in record.items()]}


def record_of(status: Mapping[str, Any]) -> Record:
    return {(each["type"], each["name"]): str(each["id"]) for each in status.get("resources") or ()}


@dataclass(frozen=True)
class DesiredResource:
    """A desired resource of an object.

    body   builds the create request from the ids of the parts before it
    after  returns why the resource cannot be created yet, from the existing resources of the parts before it
    """

    resource_key: ResourceKey
    body: Callable[[Mapping[ResourceKey, Any]], Mapping[str, Any]]
    after: Callable[[Mapping[ResourceKey, CloudResource]], str] = lambda things: ""
    user_data: tuple[Key, str] | None = None


@dataclass(frozen=True)
class Owner:
    cloud: CloudRef
    uid: str

    def call(self, do: Any, key: ResourceKey, **more: Any) -> CloudCall:
        return CloudCall(self.cloud, do, key, self.uid, **more)


@dataclass(frozen=True)
class Progress:
    """record     record after the calls, with a PendingId for each resource they create
    calls      calls to execute; at most one creates a resource
    missing    keys whose recorded resource no longer exists; they are still in the record
    existing   key → resource, for all recorded resources that exist
    wait       why nothing can be created yet although a resource is missing
    reason     reason of the condition, if a user must end the wait
    waits_for  the resources whose deletion the step waits for
    ambiguous  volumes of which exactly one is ours but it is unknown which; the step waits for a user to resolve this
    copies     volumes that remain after deletion, as they may be others' copies; before, those that hold their own id
    originals  resources that are kept besides the recorded ones, because they may be the originals; while a part is
               missing, the step waits for a user to delete the wrong ones
    """

    record: Mapping[ResourceKey, Any]
    calls: tuple[CloudCall, ...] = ()
    missing: tuple[ResourceKey, ...] = ()
    existing: Mapping[ResourceKey, CloudResource] = field(default_factory=dict)
    wait: str = ""
    reason: str = ""
    waits_for: Wait | None = None
    ambiguous: tuple[CloudResource, ...] = ()
    copies: tuple[CloudResource, ...] = ()
    originals: tuple[CloudResource, ...] = ()

    @property
    def note(self) -> str:
        """The possible originals and copies, as text; empty without any."""
        names = ", ".join(f"{thing.type} {thing.id}" for thing in (*self.originals, *self.copies))
        text = "Kept, because they have the mark of a recorded one and may be the originals; delete the wrong ones"
        return f"{text}: {names}" if names else ""

    @property
    def complete(self) -> bool:
        return not (self.calls or self.missing or self.wait)


def plan_next(owner: Owner, parts: Sequence[DesiredResource], record: Record, view: ProjectView) -> Progress:
    """The next step towards all parts, in their order. Lost resources are reported and prevent further steps.

    Recorded resources that are no longer a part are deleted last, and are not reported as missing.
    """
    known: dict[ResourceKey, Any] = dict(record)
    existing: dict[ResourceKey, CloudResource] = {}
    for key, id_ in record.items():
        if (thing := view.get(key, id_)) is not None and not is_gone(thing):
            existing[key] = thing
    missing = tuple(key for key in record if key not in existing and key[0] not in view.unlisted_types)
    others = others_of(owner, record, view)
    wanted = {part.resource_key for part in parts}
    if view.settled:
        copied = {key for key, thing, is_kept in others if is_kept and TYPES[thing.type].copied}
        for key in [key for key in missing if key not in wanted and key not in copied]:
            del known[key]
        missing = tuple(key for key in missing if key in wanted)
    ambiguous: tuple[CloudResource, ...] = ()
    for part in parts:  # adopt resources with a mark and no record; they may depend on lost ones
        if part.resource_key not in known and (
            found := [t for t in view.marked(owner.uid, part.resource_key) if _fits(t, part, known)]
        ):
            if is_ambiguous(found):
                ambiguous += tuple(found)
            else:
                known[part.resource_key], existing[part.resource_key] = found[0].id, found[0]
    if missing and not view.certain:
        return uncertain(Progress(known, existing=existing, wait="Checking that no resource is missing"), record, view)
    twins = twins_of(owner, [(s, t, is_kept and (s in wanted or TYPES[t.type].copied)) for s, t, is_kept in others])
    originals = tuple(t for s, t, is_kept in others if is_kept and s in wanted and not TYPES[t.type].copied)
    if missing or twins:
        return Progress(known, twins, missing, existing)
    if ambiguous:
        what, ids = ambiguous[0].type, ", ".join(thing.id for thing in ambiguous)
        wait = f"Several {what}s have the mark of this server, and which one belongs to it is unknown: {ids}"
        return Progress(known, existing=existing, wait=wait, ambiguous=ambiguous)
    for part in parts:
        if part.resource_key in known:
            continue
        if not view.certain:
            unsure = Progress(known, existing=existing, wait="Checking for resources of earlier requests")
            return uncertain(unsure, record, view)
        if originals:
            unclear = Progress(known, existing=existing, originals=originals)
            return replace(unclear, wait=unclear.note)
        if wait := part.after(existing):
            return Progress(known, existing=existing, wait=wait)
        call = owner.call("create", part.resource_key, body=part.body(known), user_data=part.user_data)
        return Progress({**known, part.resource_key: PendingId(part.resource_key)}, (call,), existing=existing)
    calls = _surplus(owner, parts, known, existing)
    copies = tuple(t for _, t, is_kept in others if is_kept and t.facts.get(ANSWERED))
    return Progress(known, calls, existing=existing, originals=originals, copies=copies)


def _fits(thing: CloudResource, part: DesiredResource, known: Record) -> bool:
    """Whether a resource can be adopted: it exists, and names resources of this object only as its part would."""
    named = [field for field in TYPES[thing.type].needs if isinstance(thing.facts.get(field), str)]
    if is_gone(thing) or not named:
        return not is_gone(thing)
    try:
        body = part.body(known)
    except KeyError:  # one that it names is neither on record nor found
        return False
    return all(thing.facts[field] == body.get(field) or body.get(field) not in known.values() for field in named)


def _surplus(
    owner: Owner,
    parts: Sequence[DesiredResource],
    known: dict[ResourceKey, Any],
    existing: Mapping[ResourceKey, CloudResource],
) -> tuple[CloudCall, ...]:
    """Deletions of recorded resources that are no longer a part, newest first. They stay in the record until gone.

    A resource that is also a part under another key, such as a rule in a new notation, is kept and only its old key
    leaves the record. A port that the recorded server uses is kept in the record unless its mark proves that it was
    created under its key: a status that another operator or an older one wrote may name it otherwise.
    """
    wanted = {part.resource_key for part in parts}
    kept = {(key[0], id_) for key, id_ in known.items() if key in wanted}
    for key in [key for key, id_ in known.items() if key not in wanted and (key[0], id_) in kept]:
        del known[key]
    due = [(key, existing[key]) for key in reversed(known) if key not in wanted and key in existing]
    server = known.get(SERVER_KEY, "")
    calls = (
        remove(owner, key, thing)
        for key, thing in due
        if not server or thing.facts.get("device_id") != server or thing.mark == mark(owner.uid, key)
    )
    return tuple(call for call in calls if call is not None)


def twins_of(owner: Owner, others: Others) -> tuple[CloudCall, ...]:
    """Deletions of duplicates, which exist because a create request succeeded although it seemed to fail."""
    calls = (remove(owner, key, thing, DUPLICATE) for key, thing, is_kept in others if not is_kept)
    return tuple(call for call in calls if call is not None)


def others_of(owner: Owner, record: Record, view: ProjectView) -> Others:
    """Resources with the mark of a key for which another resource is recorded, and whether to keep each of them."""
    wanted = {mark(owner.uid, key): (key, view.get(key, id_)) for key, id_ in record.items()}
    found = []
    for thing in view.things:
        key, ours = wanted.get(thing.mark, (None, None))
        if key and record[key] != thing.id and not is_gone(thing):
            found.append((key, thing, is_kept(thing, ours)))
    return found


def uncertain(checking: Progress, record: Record, view: ProjectView) -> Progress:
    """A wait for lists; if the cloud lacks the API of recorded resources, it names them, and a user must end it."""
    if not view.lacking:
        return checking
    apis = ", ".join(f"{what}s (service {service})" for what, service in sorted(view.lacking.items()))
    ids = ", ".join(f"{what} {id_}" for (what, _), id_ in record.items() if what in view.lacking)
    text = f"The cloud lacks the API of {apis}, which is needed for {ids}: restore it"
    return replace(checking, wait=text, reason=f"Blocked{Reason.SERVICE_MISSING}")


def remove(owner: Owner, key: ResourceKey, thing: CloudResource, why: str = "") -> CloudCall | None:
    """The call that deletes a resource; None if its deletion is in progress."""
    if str(thing.facts.get("task_state") or thing.state).lower() in ("deleting", "soft-deleting"):
        return None
    return owner.call("delete", key, id=thing.id, why=why)
