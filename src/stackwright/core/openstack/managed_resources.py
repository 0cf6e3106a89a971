"""What an object has in an OpenStack, and the next step towards what it shall have, or towards nothing. Pure.

The course is the same for a server and for a cluster. Each thing has a slot. A step either writes down what is there
already, or makes one thing, and its id is in the status before the next step begins. Taking away needs no spec: it
goes by the record and the marks alone, and never makes anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackwright.core.openstack.clouds import (
    ANSWERED,
    CREATED,
    CloudCall,
    CloudRef,
    Look,
    Made,
    Slot,
    Thing,
    What,
    mark,
    marked_by,
)
from stackwright.core.plan import Key

Record = Mapping[Slot, str]
Others = Sequence[tuple[Slot, Thing, bool]]  # slot, what else has its mark, whether somebody else made that
# What holds others comes first. Things of one kind go together; the rules of a security group go with it.
TAKEN_AWAY: tuple[What, ...] = (
    "server", "floating-ip", "trunk", "port", "volume", "router", "subnet", "network", "security-group",
)  # fmt: skip
TWICE = 300.0  # seconds between two volumes at most of which the request for one seemed to have failed
GONE = ("DELETED", "SOFT_DELETED")  # a server that can be had back by its cloud's administrator only


def is_gone(thing: Thing) -> bool:
    """Whether it is not there any more though it is listed. What else is listed is there, whatever is told of it."""
    return thing.what == "server" and thing.state in GONE


def listed(record: Mapping[Slot, Any]) -> list[dict[str, Any]]:
    """A record as a list in a status; a value may still be Made."""
    return [{"type": what, "name": name, "id": id_} for (what, name), id_ in record.items()]


def unlisted(found: Iterable[Mapping[str, Any]] | None) -> dict[Slot, str]:
    return {(each["type"], each["name"]): str(each["id"]) for each in found or ()}


@dataclass(frozen=True)
class Part:
    """A thing that an object shall have.

    body   of the request that makes it, from the ids of the parts before
    after  why it cannot be made yet, from what is there of the parts before
    """

    slot: Slot
    body: Callable[[Mapping[Slot, Any]], Mapping[str, Any]]
    after: Callable[[Mapping[Slot, Thing]], str] = lambda things: ""
    user_data: tuple[Key, str] | None = None


@dataclass(frozen=True)
class Owner:
    cloud: CloudRef
    uid: str

    def call(self, do: Any, slot: Slot, **more: Any) -> CloudCall:
        return CloudCall(self.cloud, do, slot, self.uid, **more)


@dataclass(frozen=True)
class Step:
    """record     as it is after the calls, with Made in it for what they make
    calls      to be made, one at most that makes something
    lost       slots whose recorded thing is not there any more; they are still in the record
    things     slot → thing, of all that is recorded and there
    wait       why nothing can be made yet though something is missing
    ambiguous  volumes one of which is its own, and nobody knows which; until somebody tells, it waits
    copies     volumes that stay after its end: with our mark, made by somebody else or not known to be ours
    """

    record: Mapping[Slot, Any]
    calls: tuple[CloudCall, ...] = ()
    lost: tuple[Slot, ...] = ()
    things: Mapping[Slot, Thing] = field(default_factory=dict)
    wait: str = ""
    ambiguous: tuple[Thing, ...] = ()
    copies: tuple[Thing, ...] = ()

    @property
    def whole(self) -> bool:
        return not (self.calls or self.lost or self.wait)


def step(owner: Owner, parts: Sequence[Part], record: Record, look: Look) -> Step:
    """The next step towards having all parts, in their order; what is lost is told and holds up the rest.

    What is recorded and no part any more goes at last, and is not missed.
    """
    known: dict[Slot, Any] = dict(record)
    things: dict[Slot, Thing] = {}
    for slot, id_ in record.items():
        if (thing := look.get(slot, id_)) is not None and not is_gone(thing):
            things[slot] = thing
    lost = tuple(slot for slot in record if slot not in things and slot[0] not in look.unseen)
    others = _others(owner, record, look)
    if look.settled:
        wanted = {part.slot for part in parts}
        copied = {slot for slot, _, is_copy in others if is_copy}
        for slot in [slot for slot in lost if slot not in wanted and slot not in copied]:
            del known[slot]
        lost = tuple(slot for slot in lost if slot in wanted)
    ambiguous: tuple[Thing, ...] = ()
    for part in parts:  # what has a mark and no record is taken over: it may be made of what is lost
        if part.slot not in known and (found := [t for t in look.marked(owner.uid, part.slot) if not is_gone(t)]):
            if _ambiguous(found):
                ambiguous += tuple(found)
            else:
                known[part.slot], things[part.slot] = found[0].id, found[0]
    if lost and not look.certain:
        return Step(known, things=things, wait="Looking whether it is all there")
    twins = _twins(owner, others)
    if lost or twins:
        return Step(known, twins, lost, things)
    if ambiguous:
        ids = ", ".join(thing.id for thing in ambiguous)
        wait = f"Cannot tell which volume belongs to this server: {ids}"
        return Step(known, things=things, wait=wait, ambiguous=ambiguous)
    for part in parts:
        if part.slot in known:
            continue
        if not look.certain:
            return Step(known, things=things, wait="Looking whether it was made before")
        if wait := part.after(things):
            return Step(known, things=things, wait=wait)
        call = owner.call("create", part.slot, body=part.body(known), user_data=part.user_data)
        return Step({**known, part.slot: Made(part.slot)}, (call,), things=things)
    calls = _surplus(owner, parts, known, things)
    return Step(known, calls, things=things)


def _surplus(
    owner: Owner, parts: Sequence[Part], known: dict[Slot, Any], things: Mapping[Slot, Thing]
) -> tuple[CloudCall, ...]:
    """What was a part once, what was made last first. It stays in the record until it is seen to be gone.

    What is a part by another slot too, as a rule that is written in another way now, is forgotten and stays.
    """
    wanted = {part.slot for part in parts}
    kept = {(slot[0], id_) for slot, id_ in known.items() if slot in wanted}
    for slot in [slot for slot, id_ in known.items() if slot not in wanted and (slot[0], id_) in kept]:
        del known[slot]
    due = [slot for slot in reversed(known) if slot not in wanted]
    calls = (remove(owner, slot, things[slot]) for slot in due if slot in things)
    return tuple(call for call in calls if call is not None)


def _twins(owner: Owner, others: Others) -> tuple[CloudCall, ...]:
    """What was made twice, because a request succeeded that had seemed to fail."""
    calls = (remove(owner, slot, thing, "made twice") for slot, thing, is_copy in others if not is_copy)
    return tuple(call for call in calls if call is not None)


def _others(owner: Owner, record: Record, look: Look) -> Others:
    """What has the mark of a slot for which another thing is recorded, and whether somebody else made it of that."""
    wanted = {mark(owner.uid, slot): (slot, look.get(slot, id_)) for slot, id_ in record.items()}
    found = []
    for thing in look.things:
        slot, ours = wanted.get(thing.mark, (None, None))
        if slot and record[slot] != thing.id and not is_gone(thing):
            found.append((slot, thing, thing.what == "volume" and _is_copy(thing, ours)))
    return found


def _is_copy(volume: Thing, ours: Thing | None) -> bool:
    """Whether somebody else made it: who copies a volume, by way of a backup, say, may copy its metadata and our mark.

    The copy of a volume with its own id in its metadata has that id too, and so counts as one without a mark. Beside
    such a volume, what we made twice was made within minutes and nobody uses it. If ownership is unclear, keep the
    volume.
    """
    if ours is None or not ours.facts.get(ANSWERED) or volume.facts.get("attachments"):
        return True
    made, known = volume.facts.get(CREATED), ours.facts.get(CREATED)
    return made is None or known is None or abs(made - known) > TWICE


def _ambiguous(found: Sequence[Thing]) -> bool:
    """Whether one of these volumes with one mark is ours, in the order of `Look.marked`, and nobody knows which."""
    return len(found) > 1 and found[0].what == "volume" and not found[0].facts.get(ANSWERED)


def removal(owner: Owner, record: Record, look: Look) -> Step:
    """The next step towards having nothing: whatever is recorded or marked, by kinds, what holds others first.

    Delete duplicates before the recorded resource. Keep foreign copies. The record, which lasts as long, tells them
    from ours. Without a record all stay that have one mark: one at a time, the last would go.
    """
    others = _others(owner, record, look)
    if twins := _twins(owner, others):
        return Step(record, twins, wait="Waiting for what was made twice to go")
    kept_for = {(t.what, t.id): slot for slot, t, is_copy in others if is_copy}
    copies, copied = kept_for.keys() | _several(owner, record, look), set(kept_for.values())
    names = {(slot[0], id_): slot for slot, id_ in record.items()}
    found = {(t.what, t.id): t for t in look.things if not is_gone(t)}
    left = {key: t for key, t in found.items() if key in names or (marked_by(t, owner.uid) and key not in copies)}
    kept = {slot: id_ for slot, id_ in record.items() if (slot[0], id_) in left or slot in copied or not look.certain}
    for what in TAKEN_AWAY:
        if due := [thing for thing in left.values() if thing.what == what]:
            calls = (remove(owner, names.get((what, t.id), (what, t.name)), t) for t in due)
            return Step(
                kept, tuple(call for call in calls if call is not None), wait=f"Waiting for {_named(due)} to go"
            )
    told = tuple(thing for key, thing in found.items() if key in copies)
    return Step(kept, wait="" if look.certain else "Looking whether anything is left", copies=told)


def _several(owner: Owner, record: Record, look: Look) -> set[tuple[str, str]]:
    """Volumes of one mark for which nothing is recorded: one is ours."""
    known = {mark(owner.uid, slot) for slot in record}
    marks = Counter(t.mark for t in look.things if t.what == "volume" and marked_by(t, owner.uid))
    return {(t.what, t.id) for t in look.things if t.what == "volume" and marks[t.mark] > 1 and t.mark not in known}


def remove(owner: Owner, slot: Slot, thing: Thing, why: str = "") -> CloudCall | None:
    """None for what is on its way already."""
    if str(thing.facts.get("task_state") or thing.state).lower() in ("deleting", "soft-deleting"):
        return None
    return owner.call("delete", slot, id=thing.id, why=why)


def _named(things: list[Thing]) -> str:
    return ", ".join(f"{thing.what} {thing.name or thing.id}" for thing in things)
