"""Confirms that resources which a list lacks are deleted: a wrong response must not cause the loss or recreation of
one.

A replica of an API that has just started may return a list with 200 and too few items. So a recorded id is treated as
deleted only after two requests for it, CONFIRM seconds apart, both got 404. A resource that is known only by its mark
has no recorded id, so a list that suddenly lacks many items is valid only after a later list that lacks no further
ones. Until then no look is settled. If no resource is missing, no request is added. An object may have recorded 200
ids: each response is kept, so the look after one that timed out requests only the remaining ids.

The first list of a login cannot be compared with an earlier one. For an object that may have resources of an earlier
process or of another cluster, only a list that begins CONFIRM seconds later proves absence. A list that suddenly has
many more items shows that the one before was incomplete, so it is treated as a first one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stackwright.adapters.openstack.tenant.single_flight import together
from stackwright.core.openstack.clouds import Subscription
from stackwright.core.openstack.resources import CloudResource

if TYPE_CHECKING:
    from stackwright.adapters.openstack.tenant.snapshot import Snapshot

Id = tuple[str, str]  # type and id of a resource
Ask = Callable[[str, str], Awaitable[CloudResource | None]]
AT_ONCE = 8  # concurrent requests of one look
CONFIRM = 5.0  # seconds between two responses 404 that together prove absence
MANY = 3  # a shorter list is suspicious if it loses all items; others, if they lose more than half


@dataclass
class PendingConfirmations:
    """Times are those of a monotonic clock.

    first    type → start of the first list, or of the last one that suddenly had many more items
    lists    type → start of the list that suddenly lacked many items
    missing  id → time of the first 404 for it
    gone     ids that are confirmed to be deleted
    single   ids that a single request found although a list lacked them; the next list may lack them, too
    """

    first: dict[str, float] = field(default_factory=dict)
    lists: dict[str, float] = field(default_factory=dict)
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

    def seen(self, key: Id) -> None:
        self.missing.pop(key, None)
        self.gone.discard(key)

    def forget(self, recorded: Collection[Id]) -> None:
        """Drop the ids that no object has recorded."""
        self.missing = {key: when for key, when in self.missing.items() if key in recorded}
        self.gone.intersection_update(recorded)
        self.single.intersection_update(recorded)


def _lacks_many(listed: Collection[Id], expected: Collection[Id]) -> bool:
    """Whether these ids lack suspiciously many of the expected ones."""
    lacking = set(expected).difference(listed)
    return bool(lacking) and (not listed or (len(expected) >= MANY and 2 * len(lacking) > len(expected)))


async def confirm(
    snapshot: Snapshot, asker: Subscription, kinds: Collection[str], ask: Ask, clock: Callable[[], float]
) -> None:
    """Request each id of these types that the asker has recorded and the lists lack, until it is confirmed."""
    doubts, now = snapshot.doubts, clock()
    lacking = sorted(_lacking(snapshot, asker, kinds))
    due = [key for key in lacking if now - doubts.missing.get(key, now - CONFIRM) >= CONFIRM]
    due = [key for key in due if key[0] not in snapshot.absent]  # a missing service returns 404 for every request

    async def weigh(key: Id) -> None:
        began = clock()
        if (thing := await ask(*key)) is not None:
            snapshot.restore(thing, began)
        elif began - doubts.missing.setdefault(key, began) >= CONFIRM:
            doubts.gone.add(key)

    for at in range(0, len(due), AT_ONCE):
        await together(map(weigh, due[at : at + AT_ONCE]))


def is_confirmed(snapshot: Snapshot, asker: Subscription, kinds: Collection[str]) -> bool:
    """Whether each id of these types that the asker has recorded exists or is confirmed to be deleted."""
    return not _lacking(snapshot, asker, kinds)


def _lacking(snapshot: Snapshot, asker: Subscription, kinds: Collection[str]) -> set[Id]:
    return {key for key in asker.ids if key[0] in kinds and key not in snapshot.things} - snapshot.doubts.gone
