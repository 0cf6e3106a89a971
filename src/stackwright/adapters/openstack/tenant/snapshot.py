"""Snapshot of a project: recent lists of its resources, shared by all objects that have resources in it.

Ports and volumes are listed completely from time to time. Lists of servers are slow, so mostly only their changes are
listed (`ListPolicy.changes`): once a minute, or every ten seconds while an object waits for one. For objects that wait
for a server to be built, a peek lists only the ids of ACTIVE servers twice a second; new servers need no other field.
Own writes are stored at once, and a list that began before a write does not undo it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.tenant.absence import CONFIRM, AbsenceEvidence
from stackwright.adapters.openstack.tenant.rest.reads import stamp
from stackwright.adapters.openstack.tenant.rest.rest_types import REST
from stackwright.adapters.openstack.tenant.whole_list import WholeList
from stackwright.core.openstack.clouds import Subscription
from stackwright.core.openstack.resource_types import TYPES, dependents
from stackwright.core.openstack.resources import CREATED, CloudResource

if TYPE_CHECKING:
    pass

# Seconds before the last list that a list of changes includes: the clocks of a cloud's hosts differ, and transactions
# take time.
OVERLAP = 5.0
PART = 10.0  # seconds for which peeks replace a list of changes
LEAVING = 1.0  # the same while an object waits for a deletion
ABSENT = 60.0  # seconds after which a service that the cloud lacked is tried again
KEPT = 3.0  # seconds since the last refresh for which a waiting object needs no request
DELETED = "DELETED"


@dataclass
class Snapshot:
    """Resources of a project; no I/O. Times are those of a monotonic clock."""

    begun: float = 0.0
    things: dict[tuple[str, str], CloudResource] = field(default_factory=dict)
    taken: dict[str, float] = field(default_factory=dict)  # type → start of its last whole list
    fresh: dict[str, float] = field(default_factory=dict)  # type → start of its last list, whole or of changes
    took: dict[str, float] = field(default_factory=dict)  # type → duration of its last list, or peek
    # For types whose changes are listed: whole lists, duration of the last list of changes, start of the last peek
    whole: defaultdict[str, WholeList] = field(default_factory=lambda: defaultdict(WholeList))
    took_part: dict[str, float] = field(default_factory=dict)
    peeked: dict[str, float] = field(default_factory=dict)
    written: dict[tuple[str, str], float] = field(default_factory=dict)
    evidence: AbsenceEvidence = field(default_factory=AbsenceEvidence)
    # uid → resources with its mark; port id → floating IPs of the port
    _owned: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def _put(self, thing: CloudResource) -> None:
        self._pop((thing.type, thing.id))  # its mark may have changed
        self.things[thing.type, thing.id] = thing
        self.evidence.found((thing.type, thing.id))
        for whose in _owners(thing):
            self._owned.setdefault(whose, set()).add((thing.type, thing.id))

    def _pop(self, key: tuple[str, str]) -> None:
        thing = self.things.pop(key, None)
        for whose in _owners(thing) if thing else ():
            self._owned[whose].discard(key)
            if not self._owned[whose]:
                del self._owned[whose]

    def replace(self, what: str, found: Iterable[CloudResource], began: float) -> set[tuple[str, str]]:
        """Store a whole list, unless the last one began later; returns the changed resources."""
        if began < self.taken.get(what, began):
            return set()
        listed = {(what, thing.id): thing for thing in found}
        known = {key for key in self.things if key[0] == what}
        gone = known - listed.keys()
        changed = {key for key in gone if self.written.get(key, 0.0) < began}
        self.evidence.record_growth(what, known, listed, began)
        stays = {key for key in known - (gone - changed) if not self._goes(self.things[key])}
        self.evidence.record_loss(what, stays, listed, began)
        self.evidence.unlisted.difference_update(listed)
        self.evidence.deleted |= {key for key in changed if self.things[key].state == DELETED}
        for key in changed:
            self._pop(key)
        changed |= self.merge(listed.values(), began)
        self.taken[what] = began
        self.fresh[what] = max(began, self.fresh.get(what, began))
        self.whole[what].ended(began)
        return changed

    def update(self, what: str, found: Iterable[CloudResource], began: float) -> set[tuple[str, str]]:
        """Store a list of changes, while a whole list may be in progress; returns the changed resources.

        It is ignored if the last whole list began later.
        """
        if began < self.taken[what]:
            return set()
        changed = self.merge(found, began)
        self.written.update(dict.fromkeys(changed, began))
        self.fresh[what] = max(began, self.fresh[what])
        return changed

    def merge(self, found: Iterable[CloudResource], began: float) -> set[tuple[str, str]]:
        changed = set()
        for thing in found:
            key = (thing.type, thing.id)
            if self.written.get(key, 0.0) >= began or self.things.get(key) == thing:
                continue
            self._put(thing)
            changed.add(key)
        return changed

    def restore(self, thing: CloudResource, now: float) -> None:
        """Store a resource that a list lacked and a single request found."""
        self.write(thing, now)
        self.evidence.unlisted.add((thing.type, thing.id))

    def deleted(self, key: tuple[str, str], now: float) -> None:
        """Remove a resource that the cloud deleted at our request, with the resources that it contained."""
        parts = dependents(key[0], "parent")
        for each in {key, *self._naming(parts, {key[1]})}:
            self.drop(each, now)
            self.evidence.deleted.add(each)

    def _goes(self, thing: CloudResource) -> bool:
        """Whether a list is expected to lack a resource: it is being deleted, or its parent was deleted."""
        what, field = TYPES[thing.type].parent or ("", "")
        orphan = thing.facts.get(field) is not None and (what, thing.facts[field]) not in self.things
        return orphan or _leaving(thing) or thing.state.lower() in ("deleting", "deleted", "soft_deleted")

    def write(self, thing: CloudResource, now: float) -> None:
        self._put(thing)
        self.written[thing.type, thing.id] = now

    def changed(self, key: tuple[str, str], fields: Mapping[str, Any], now: float) -> None:
        """Store an update whose response did not contain the resource."""
        if thing := self.things.get(key):
            known = {name: value for name, value in fields.items() if name in thing.facts}
            self.write(replace(thing, facts={**thing.facts, **known}), now)

    def leaving(self, key: tuple[str, str], now: float) -> None:
        """Record that the deletion of a resource was requested, so that it is not requested again."""
        if thing := self.things.get(key):
            self.write(replace(thing, facts={**thing.facts, "task_state": "deleting"}), now)

    def drop(self, key: tuple[str, str], now: float) -> None:
        """Remove a resource, and detach those that were attached to it."""
        self._pop(key)
        self.written[key] = now
        for other in list(self._owned.get(key[1], ())) if dependents(key[0], "attached") else ():
            self.changed(other, TYPES[other[0]].detached, now)

    def forget(self, before: float) -> None:
        """Drop the times of writes that precede every list in progress."""
        self.written = {key: when for key, when in self.written.items() if when >= before}

    def due(self, what: str, waits: bool, now: float, settled: float = 0.0) -> bool:
        """Whether a list is due. If no object waits, a new process lists only types with `ListPolicy.at_start`, which
        suffices without errors.

        A caller that must prove absence needs a whole list that began at `settled` or later.
        """
        if (
            now - self.evidence.missing_services.get(what, -1e9) < ABSENT
            or now - self.evidence.missing_lists.get(what, -1e9) < CONFIRM
        ):
            return False
        if self.taken.get(what, 0.0) < settled <= now or self.doubtful(what, now):
            return True
        begin = self.begun if not (waits or REST[what].lists.at_start) else -1e9
        return now - self.seen(what, begin) >= self.age(what, waits)

    def doubtful(self, what: str, now: float) -> bool:
        """Whether the last list of a type lacked many items and the list that confirms this is due."""
        return self.evidence.is_confirmation_due(what, self.taken.get(what, now), now)

    def does(self, what: str, settled: float) -> bool:
        """Whether the last whole list began at `settled` or later; changes do not prove absence."""
        return what in self.taken and self.taken[what] >= settled

    def kept(self, what: str, settled: float, now: float) -> bool:
        """True if the list is fresh and refreshes succeed; otherwise the caller fetches it and gets the error."""
        return self.does(what, settled) and now - self.seen(what) <= KEPT

    def seen(self, what: str, never: float = 0.0) -> float:
        """Time of the last refresh, by a list or a peek."""
        return max(self.fresh.get(what, never), self.peeked.get(what, never))

    def peek(self, what: str, built: Iterable[str], began: float) -> set[tuple[str, str]]:
        """Store ids of resources that are built; returns those that changed, without their outdated facts."""
        known, state = (self.things.get((what, id_)) for id_ in built), TYPES[what].built
        news = [thing for thing in known if thing and thing.state != state and not _leaving(thing)]
        changed = self.merge((replace(thing, state=state, facts=_lasting(thing)) for thing in news), began)
        self.written.update(dict.fromkeys(changed, began))
        self.peeked[what] = began
        return changed

    def due_part(self, what: str, ids: Iterable[tuple[str, str]], now: float) -> bool:
        """Whether a list of changes is due for the owners of `ids`; peeks do not show deletions."""
        things = (self.things.get(key) for key in ids if key[0] == what)
        leaving = any(thing is not None and _leaving(thing) for thing in things)
        return now - self.fresh[what] >= max(LEAVING if leaving else PART, self.took_part.get(what, 0.0))

    def age(self, what: str, waits: bool) -> float:
        """Seconds from the start of a list to the start of the next."""
        return REST[what].lists.age(waits, self.took.get(what, 0.0))

    def since(self, what: str, clock: float | None) -> str:
        """Start of the next list of changes, in the time of the service; empty if that is unknown.

        `clock` is its clock minus ours. The times of changes are no substitute: the servers that changed last may have
        been deleted, and the clock of the host that changed one may be wrong.
        """
        return "" if clock is None else stamp(self.fresh[what] + clock - OVERLAP)

    def due_whole(self, what: str, now: float) -> bool:
        """Whether a whole list is due in addition to lists of changes."""
        return self.whole[what].due(self.taken[what], now)

    def ids_of(self, subscription: Subscription) -> frozenset[tuple[str, str]]:
        """Recorded ids of the object, and those of the resources with its mark."""
        return subscription.ids.union(self._owned.get(subscription.uid, ()))

    def of(self, subscription: Subscription) -> tuple[CloudResource, ...]:
        """Resources of the object, and those of other clients that are contained in or attached to one of them."""
        keys = self.ids_of(subscription)
        whats = {what for what, _ in keys}
        hosts = {what for what in whats if dependents(what, "attached")}
        keys = keys.union(*(self._owned.get(id_, ()) for what, id_ in keys if what in hosts))
        for what in whats:
            if parts := dependents(what, "parent"):
                keys |= self._naming(parts, {id_ for each, id_ in keys if each == what})
        return tuple(self.things[key] for key in sorted(keys) if key in self.things)

    def _naming(self, parts: Mapping[str, str], ids: Container[str]) -> set[tuple[str, str]]:
        """Resources of these types whose field (type → field) has one of the ids."""
        return {key for key, thing in self.things.items() if key[0] in parts and thing.facts.get(parts[key[0]]) in ids}


def _owners(thing: CloudResource) -> Iterator[str]:
    """The uid in the mark, and the resource to which it is attached."""
    if thing.mark:
        yield thing.mark.split(":")[1]
    if (pair := TYPES[thing.type].attached) and thing.facts.get(pair[1]):
        yield thing.facts[pair[1]]


def _leaving(thing: CloudResource) -> bool:
    return bool(thing.facts.get("task_state") == "deleting")


def _lasting(thing: CloudResource) -> dict[str, Any]:
    """Facts that do not depend on the state."""
    return {name: thing.facts[name] for name in ("metadata", "tags", CREATED) if name in thing.facts}
