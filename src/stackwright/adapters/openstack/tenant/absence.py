"""Decides when responses prove that a resource does not exist, so that one wrong response causes neither a loss nor a
recreation. Pure.

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
class AbsenceEvidence:
    """The responses of one project.

    first_lists       type → start of the first list, or of the last one that suddenly had many more items
    short_lists       type → start of the list that suddenly lacked many items
    missing_lists     type whose list does not exist → time of the first 404
    missing_services  type that the cloud lacks → time of that response
    first_404         id → time of the first 404 for it
    deleted           ids that are confirmed to be deleted
    unlisted          ids that a single request found although a list lacked them; the next list may lack them, too
    """

    first_lists: dict[str, float] = field(default_factory=dict)
    short_lists: dict[str, float] = field(default_factory=dict)
    missing_lists: dict[str, float] = field(default_factory=dict)
    missing_services: dict[str, float] = field(default_factory=dict)
    first_404: dict[Id, float] = field(default_factory=dict)
    deleted: set[Id] = field(default_factory=set)
    unlisted: set[Id] = field(default_factory=set)

    def record_growth(self, what: str, known: Collection[Id], listed: Collection[Id], began: float) -> None:
        """Record whether a whole list is the first one, or has suspiciously many items that were not known before."""
        if what not in self.first_lists or _lacks_many(known, listed):
            self.first_lists[what] = began

    def provable_from(self, what: str) -> float:
        """Time from which a whole list proves absence to an object that may have resources of an earlier process."""
        return self.first_lists[what] + CONFIRM if what in self.first_lists else 0.0

    def record_loss(self, what: str, before: Collection[Id], listed: Collection[Id], began: float) -> None:
        """Record whether a whole list lacks suspiciously many of the ids `before`, which exclude expected deletions."""
        if _lacks_many(listed, set(before) - self.unlisted):
            self.short_lists[what] = began
        elif began - self.short_lists.get(what, began) >= CONFIRM:
            del self.short_lists[what]

    def is_confirmation_due(self, what: str, taken: float, now: float) -> bool:
        """Whether the last list of a type, which began at `taken`, lacked many items and the list that confirms this is
        due.
        """
        return what in self.short_lists and now - taken >= CONFIRM

    def list_not_found(self, what: str, began: float, *, sure: bool) -> None:
        """Record that the cloud has no list of a type. As for a resource, one response 404 does not prove that."""
        if sure or began - self.missing_lists.setdefault(what, began) >= CONFIRM:
            self.missing_services[what] = began

    def list_found(self, what: str) -> None:
        self.missing_services.pop(what, None)
        self.missing_lists.pop(what, None)

    def unconfirmed(self, recorded: Collection[Id], kinds: Collection[str], existing: Collection[Id]) -> set[Id]:
        """Recorded ids of these types that neither exist nor are confirmed to be deleted."""
        return {key for key in recorded if key[0] in kinds and key not in existing} - self.deleted

    def due(self, unconfirmed: Collection[Id], now: float) -> list[Id]:
        """The ids to request now. A missing service returns 404 for every request, which proves nothing."""
        since = {key: now - self.first_404.get(key, now - CONFIRM) for key in sorted(unconfirmed)}
        return [key for key, seconds in since.items() if seconds >= CONFIRM and key[0] not in self.missing_services]

    def not_found(self, key: Id, began: float) -> None:
        """Record a response 404 to a request that began then."""
        if began - self.first_404.setdefault(key, began) >= CONFIRM:
            self.deleted.add(key)

    def is_sure(self, kinds: Collection[str], unconfirmed: Collection[Id]) -> bool:
        """Whether no list of `kinds` is doubtful or missing, and no id is `unconfirmed`."""
        doubtful = self.short_lists.keys() | (self.missing_lists.keys() - self.missing_services.keys())
        return not unconfirmed and doubtful.isdisjoint(kinds)

    def found(self, key: Id) -> None:
        self.first_404.pop(key, None)
        self.deleted.discard(key)

    def forget(self, recorded: Collection[Id]) -> None:
        """Drop the ids that no object has recorded."""
        self.first_404 = {key: when for key, when in self.first_404.items() if key in recorded}
        self.deleted.intersection_update(recorded)
        self.unlisted.intersection_update(recorded)


@dataclass
class RequiredLists:
    """Which whole lists prove absence to one object.

    known         its first look preceded all its requests, so all of them were sent by this process. An object that
                  returns after its entry expired is not known; it only waits until requests of an earlier process
                  settle
    began         time of its first look
    served_since  time when it last got another resource to serve
    first_lists   for an object that was moved: type → start of the first whole list since `began`
    """

    known: bool
    began: float
    served_since: float = 0.0
    first_lists: dict[str, float] = field(default_factory=dict)

    def settled_at(
        self, what: str, taken: float, evidence: AbsenceEvidence, *, moved: bool, started: float, uncertain: float
    ) -> float:
        """Time by which earlier requests have taken effect on a type; only whole lists that begin later prove absence.

        Older lists do not prove either which resources are free. The first list of a login proves nothing to an object
        that may have resources of an earlier process. One that was moved needs a list since its first look at once, and
        a later one as proof.

        taken      start of the last whole list
        started    start of this process
        uncertain  time until which a request of the object may still take effect, or 0
        """
        if self.needs_list(what, taken, moved=moved):
            return self.began
        inherited = 0.0 if self.known else max(started + SETTLE, evidence.provable_from(what))
        return max(inherited, self.provable_from(what), self.served_since, uncertain)

    def needs_list(self, what: str, taken: float, *, moved: bool) -> bool:
        """Whether an object that was moved has no whole list since `began`."""
        if moved and taken >= self.began:
            self.first_lists.setdefault(what, taken)
        return moved and what not in self.first_lists

    def provable_from(self, what: str) -> float:
        """Time from which a whole list proves absence to an object that was moved.

        Until then it had another operator, whose last request may still be in progress. And as for the first list of
        a login, there is no earlier list that shows what the first one lacks.
        """
        return max(self.began + SETTLE, self.first_lists[what] + CONFIRM) if what in self.first_lists else 0.0


def _lacks_many(listed: Collection[Id], expected: Collection[Id]) -> bool:
    """Whether these ids lack suspiciously many of the expected ones."""
    lacking = set(expected).difference(listed)
    return bool(lacking) and (not listed or (len(expected) >= MANY and 2 * len(lacking) > len(expected)))
