"""What proves that a resource does not exist: a wrong response must not cause the loss or recreation of one. Pure.

A replica of an API that has just started may return a list with 200 and too few items. So a recorded id is treated as
deleted only after two requests for it, CONFIRM seconds apart, both got 404. A resource that is known only by its mark
has no recorded id, so a list that suddenly lacks many items is valid only after a later list that lacks no further
ones. Until then no look is settled. If no resource is missing, no request is added. An object may have recorded 200
ids: each response is kept, so the look after one that timed out requests only the remaining ids.

The first list of a login cannot be compared with an earlier one. For an object that may have resources of an earlier
process or of another cluster, only a list that begins CONFIRM seconds later proves absence. A list that suddenly has
many more items shows that the one before was incomplete, so it is treated as a first one.

Times are those of a monotonic clock.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

Id = tuple[str, str]  # type and id of a resource
CONFIRM = 5.0  # seconds between two responses 404 that together prove absence
SETTLE = 8.0  # seconds after which a request has taken effect, even if its process ended or it timed out
MANY = 3  # a shorter list is suspicious if it loses all items; others, if they lose more than half


@dataclass
class PendingConfirmations:
    """The responses of one project.

    first    type → start of the first list, or of the last one that suddenly had many more items
    lists    type → start of the list that suddenly lacked many items
    lacked   type whose list does not exist → time of the first 404
    absent   type that the cloud lacks → time of that response
    missing  id → time of the first 404 for it
    gone     ids that are confirmed to be deleted
    single   ids that a single request found although a list lacked them; the next list may lack them, too
    """

    first: dict[str, float] = field(default_factory=dict)
    lists: dict[str, float] = field(default_factory=dict)
    lacked: dict[str, float] = field(default_factory=dict)
    absent: dict[str, float] = field(default_factory=dict)
    missing: dict[Id, float] = field(default_factory=dict)
    gone: set[Id] = field(default_factory=set)
    single: set[Id] = field(default_factory=set)

    def compare(self, what: str, known: Collection[Id], listed: Collection[Id], began: float) -> None:
        """Record whether a whole list is the first one, or has suspiciously many items that were not known before."""
        if what not in self.first or _lacks_many(known, listed):
            self.first[what] = began

    def proof(self, what: str) -> float:
        """Time from which a whole list proves absence to an object that may have resources of an earlier process."""
        return self.first[what] + CONFIRM if what in self.first else 0.0

    def weigh(self, what: str, before: Collection[Id], listed: Collection[Id], began: float) -> None:
        """Record whether a whole list lacks suspiciously many of the ids `before`, which exclude expected deletions."""
        if _lacks_many(listed, set(before) - self.single):
            self.lists[what] = began
        elif began - self.lists.get(what, began) >= CONFIRM:
            del self.lists[what]

    def doubtful(self, what: str, taken: float, now: float) -> bool:
        """Whether the last list of a type, which began at `taken`, lacked many items and the list that confirms this is
        due.
        """
        return what in self.lists and now - taken >= CONFIRM

    def lacks(self, what: str, began: float, *, sure: bool) -> None:
        """Record that the cloud has no list of a type. As for a resource, one response 404 does not prove that."""
        if sure or began - self.lacked.setdefault(what, began) >= CONFIRM:
            self.absent[what] = began

    def has(self, what: str) -> None:
        self.absent.pop(what, None)
        self.lacked.pop(what, None)

    def lacking(self, recorded: Collection[Id], kinds: Collection[str], existing: Collection[Id]) -> set[Id]:
        """Recorded ids of these types that neither exist nor are confirmed to be deleted."""
        return {key for key in recorded if key[0] in kinds and key not in existing} - self.gone

    def due(self, lacking: Collection[Id], now: float) -> list[Id]:
        """The ids to request now. A missing service returns 404 for every request, which proves nothing."""
        since = {key: now - self.missing.get(key, now - CONFIRM) for key in sorted(lacking)}
        return [key for key, seconds in since.items() if seconds >= CONFIRM and key[0] not in self.absent]

    def not_found(self, key: Id, began: float) -> None:
        """Record a response 404 to a request that began then."""
        if began - self.missing.setdefault(key, began) >= CONFIRM:
            self.gone.add(key)

    def is_sure(self, kinds: Collection[str], lacking: Collection[Id]) -> bool:
        """Whether no list of `kinds` is doubtful or missing, and no id is `lacking`."""
        doubted = self.lists.keys() | (self.lacked.keys() - self.absent.keys())
        return not lacking and doubted.isdisjoint(kinds)

    def seen(self, key: Id) -> None:
        self.missing.pop(key, None)
        self.gone.discard(key)

    def forget(self, recorded: Collection[Id]) -> None:
        """Drop the ids that no object has recorded."""
        self.missing = {key: when for key, when in self.missing.items() if key in recorded}
        self.gone.intersection_update(recorded)
        self.single.intersection_update(recorded)


@dataclass
class RequiredLists:
    """Which whole lists prove absence to one object.

    known   its first look preceded all its requests, so all of them were sent by this process. An object that returns
            after its entry expired is not known; it only waits until requests of an earlier process settle
    began   time of its first look
    served  time when it last got another resource to serve
    firsts  for an object that was moved: type → start of the first whole list since `began`
    """

    known: bool
    began: float
    served: float = 0.0
    firsts: dict[str, float] = field(default_factory=dict)

    def settled(
        self, what: str, taken: float, doubts: PendingConfirmations, *, moved: bool, started: float, unsure: float
    ) -> float:
        """Time by which earlier requests have taken effect on a type; only whole lists that begin later prove absence.

        Older lists do not prove either which resources are free. The first list of a login proves nothing to an object
        that may have resources of an earlier process. One that was moved needs a list since its first look at once, and
        a later one as proof.

        taken    start of the last whole list
        started  start of this process
        unsure   time until which a request of the object may still take effect, or 0
        """
        if self.needs_list(what, taken, moved=moved):
            return self.began
        inherited = 0.0 if self.known else max(started + SETTLE, doubts.proof(what))
        return max(inherited, self.proof(what), self.served, unsure)

    def needs_list(self, what: str, taken: float, *, moved: bool) -> bool:
        """Whether an object that was moved has no whole list since `began`."""
        if moved and taken >= self.began:
            self.firsts.setdefault(what, taken)
        return moved and what not in self.firsts

    def proof(self, what: str) -> float:
        """Time from which a whole list proves absence to an object that was moved.

        Until then it had another operator, whose last request may still be in progress. And as for the first list of
        a login, there is no earlier list that shows what the first one lacks.
        """
        return max(self.began + SETTLE, self.firsts[what] + CONFIRM) if what in self.firsts else 0.0


def _lacks_many(listed: Collection[Id], expected: Collection[Id]) -> bool:
    """Whether these ids lack suspiciously many of the expected ones."""
    lacking = set(expected).difference(listed)
    return bool(lacking) and (not listed or (len(expected) >= MANY and 2 * len(lacking) > len(expected)))
