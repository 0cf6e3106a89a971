"""Whether what a list lacks is gone. One wrong answer of a cloud must not make anything be forgotten or made again.

A replica of an API that has just started may answer a list with 200 and too few items. So an id that an object has
recorded counts as gone only after two requests for it, some seconds apart, that were both answered with 404. Of what
is known by its mark alone no id is recorded; a list that suddenly lacks many items therefore counts only once a later
one does not lack more. Meanwhile no look is settled. As long as nothing is missing, no request is added.

An object may have recorded 200 ids. Each answer counts when it is there, so a look that takes too long is of use: the
next one asks for the rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stackwright.adapters.openstack.tenant.single_flight import together
from stackwright.core.openstack.clouds import Asker, Thing

if TYPE_CHECKING:
    from stackwright.adapters.openstack.tenant.snapshot import Snapshot

Id = tuple[str, str]  # what it is, and its id
Ask = Callable[[str, str], Awaitable[Thing | None]]
AT_ONCE = 8  # requests of one look
CONFIRM = 5.0  # seconds between two answers that something is not there
MANY = 3  # items of which a list may lack half, as long as it is not empty


@dataclass
class Doubts:
    """Times are those of a monotonic clock.

    lists    kind → when the list began that suddenly lacked many items
    missing  id → when a request for it was first answered with 404
    gone     ids that are confirmed not to exist any more
    single   ids that a request found and a list lacked: a list that lacks them again says nothing new
    """

    lists: dict[str, float] = field(default_factory=dict)
    missing: dict[Id, float] = field(default_factory=dict)
    gone: set[Id] = field(default_factory=set)
    single: set[Id] = field(default_factory=set)

    def weigh(self, what: str, before: Collection[Id], listed: Collection[Id], began: float) -> None:
        """A whole list, after one that had the ids `before`, without those that were on their way out."""
        expected = set(before) - self.single
        lacking = expected.difference(listed)
        if lacking and (not listed or (len(expected) >= MANY and 2 * len(lacking) > len(expected))):
            self.lists[what] = began
        elif began - self.lists.get(what, began) >= CONFIRM:
            del self.lists[what]

    def seen(self, key: Id) -> None:
        self.missing.pop(key, None)
        self.gone.discard(key)

    def forget(self, recorded: Collection[Id]) -> None:
        """All but what somebody has recorded."""
        self.missing = {key: when for key, when in self.missing.items() if key in recorded}
        self.gone.intersection_update(recorded)
        self.single.intersection_update(recorded)


async def confirm(
    snapshot: Snapshot, asker: Asker, kinds: Collection[str], ask: Ask, clock: Callable[[], float]
) -> bool:
    """Whether all that the asker has recorded of these kinds is there, or is known to be gone."""
    doubts, now = snapshot.doubts, clock()
    lacking = {key for key in asker.ids if key[0] in kinds and key not in snapshot.things} - doubts.gone
    due = [key for key in sorted(lacking) if now - doubts.missing.get(key, now - CONFIRM) >= CONFIRM]
    due = [key for key in due if key[0] not in snapshot.absent]  # of those, every answer is a 404

    async def weigh(key: Id) -> None:
        began = clock()
        if (thing := await ask(*key)) is not None:
            snapshot.restore(thing, began)
        elif began - doubts.missing.setdefault(key, began) >= CONFIRM:
            doubts.gone.add(key)

    for at in range(0, len(due), AT_ONCE):
        await together(map(weigh, due[at : at + AT_ONCE]))
    return all(key in snapshot.things or key in doubts.gone for key in lacking)
