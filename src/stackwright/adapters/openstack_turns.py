"""Whose turn it is to have a server built: so many of a project at a time.

Nova takes any number of requests and builds them all at once, each the slower for the others: in a small cloud 500 of
them hold up the very messages that would finish those that have begun. In turn they are ready sooner, and the first of
them long before. Only what this process asked for is counted.
"""

from __future__ import annotations

from collections.abc import Collection

from stackwright.core.clouds import Trouble
from stackwright.core.plan import Key

AT_ONCE = 40
LONG = 300.0  # seconds; what is still being built then holds up nobody any more
AFTER = 60.0  # seconds; whose turn it is gets told, this is for what nobody hears of
Who = tuple[str, Key]  # controller and key


class Turns:
    """Times are those of a monotonic clock."""

    def __init__(self) -> None:
        self._building: dict[str, tuple[float, str]] = {}  # uid → when it was asked for, and the server's id
        self._queue: dict[str, Who] = {}  # by uid, in their order

    def take(self, uid: str, who: Who, now: float) -> None:
        """Raises Trouble if it is not this one's turn; it is among those of `ended` when it is."""
        self._building = {each: it for each, it in self._building.items() if now - it[0] < LONG}
        if len(self._building) >= AT_ONCE and uid not in self._building:
            self._queue.setdefault(uid, who)
            text = f"{AT_ONCE} servers of the project are being built; this one has to wait for its turn"
            raise Trouble("WaitingForTurn", text, AFTER)
        self._queue.pop(uid, None)
        self._building[uid] = now, ""

    def begun(self, uid: str, id_: str) -> None:
        if uid in self._building:
            self._building[uid] = self._building[uid][0], id_

    def failed(self, uid: str) -> list[Who]:
        """Nothing is being built; whose turn it is."""
        self._building.pop(uid, None)
        return self._next()

    def ended(self, ids: Collection[str]) -> list[Who]:
        """These are not being built any more, well or not; whose turn it is."""
        before = len(self._building)
        self._building = {uid: it for uid, it in self._building.items() if it[1] not in ids}
        return self._next() if len(self._building) < before else []

    def _next(self) -> list[Who]:
        """Who does not come in spite of that has to queue again."""
        turn = list(self._queue)[: max(0, AT_ONCE - len(self._building))]
        return [self._queue.pop(uid) for uid in turn]
