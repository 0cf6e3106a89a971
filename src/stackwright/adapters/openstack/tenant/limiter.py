"""Whose turn it is: so many of a project at a time, as many as OpenStack does about as quickly as few.

OpenStack takes any number of requests and works on all at once, each the slower for the others: in a small cloud 500
servers hold up the very messages that would finish those that have begun, and what asks how they are. How many it does
well is seen from how long each takes: one that is about as quick as the quickest lately lets more begin, one that is
much slower lets fewer. Who has to wait is told when it is his turn, and holds no worker of the operator until then.
Only what this process asked for is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackwright.core.openstack.clouds import SERVER, Asker, CloudCall, Trouble
from stackwright.core.plan import Key

REQUESTS = 1, 2  # of a kind: at a time at first, and at best; each holds a worker of the operator, and one of the API
SERVERS = 4, 100  # the same of those that are being made
LONG = 300.0  # seconds; what has not ended by then holds up nobody any more
HELD = 10.0  # seconds that a turn is kept for whom it was given to
AFTER = 60.0  # seconds; whose turn it is gets told, this is for what nobody hears of
SLOW = 2.0  # times as long as the quickest
OLD = 1.01  # the quickest counts so many times as long after each: a cloud may have become slower for good
MORE, FEWER = 0.5, 0.95  # a quick one raises the limit by so much, a slow one multiplies it
Who = tuple[str, Key]  # controller and key


@dataclass(frozen=True)
class _Turn:
    until: float
    began: float | None = None
    """None until he for whom it is kept has come."""


class ConcurrencyLimiter:
    """Times are those of a monotonic clock; who has a turn goes by its uid."""

    def __init__(self, busy: str, least: int, most: int) -> None:
        """`busy` tells whoever waits what is in progress; `least` at a time at first, and `most` at best."""
        self._busy, self._least, self._most = busy, least, most
        self._limit, self._quickest = float(least), LONG
        self._turns: dict[str, _Turn] = {}
        self._queue: dict[str, Who] = {}  # by uid, in their order
        self.reserved = 0
        """So many fewer for now, but for the last one."""

    @property
    def at_once(self) -> int:
        return max(1, int(self._limit) - self.reserved)

    def take(self, uid: str, who: Who, now: float) -> None:
        """Raises Trouble if it is not this one's turn; it is among those that are given one when it is."""
        self._expire(now)
        if uid not in self._turns and len(self._turns) >= self.at_once:
            self._queue.setdefault(uid, who)
            # Without their number, which changes: a new message is a write, and wakes all that watch the object.
            raise Trouble("WaitingForTurn", f"Waiting for a free slot: {self._busy}", AFTER)
        self._queue.pop(uid, None)
        had = self._turns.get(uid)
        self._turns[uid] = _Turn(now + LONG, had.began if had and had.began is not None else now)

    def end(self, uid: str, now: float, *, well: bool = True) -> list[Who]:
        """Whose turn it is thereby. How long it took says something only if it went `well`."""
        self._expire(now)
        turn = self._turns.pop(uid, None)
        if well and turn and turn.began is not None:
            self._learn(now - turn.began)
        return self._give(now)

    def _expire(self, now: float) -> None:
        self._turns = {each: turn for each, turn in self._turns.items() if now < turn.until}

    def _learn(self, took: float) -> None:
        self._quickest = min(self._quickest * OLD, took)
        wanted = self._limit + MORE if took <= SLOW * self._quickest else self._limit * FEWER
        self._limit = min(float(self._most), max(float(self._least), wanted))

    def _give(self, now: float) -> list[Who]:
        due = list(self._queue)[: max(0, self.at_once - len(self._turns))]
        self._turns.update(dict.fromkeys(due, _Turn(now + HELD)))
        return [self._queue.pop(uid) for uid in due]


class Scheduler:
    """Of all that is asked for in a project: requests of a kind in turn, and servers with all that they have.

    A server has its turn from its first port or volume on until it is built: ports of those whose turn is far off
    would hold up what has begun. A list of servers keeps Nova's API as busy as the making of one, and counts as that:
    who asks what is built is not to wait behind both.
    """

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str], ConcurrencyLimiter] = {}  # by what is done, and to what
        self._servers = ConcurrencyLimiter("other servers of this project are being made", *SERVERS)
        self._made_for: dict[str, str] = {}  # a server's id → uid

    def lists(self, count: int) -> None:
        """So many lists of servers are on their way."""
        self._of(("create", SERVER[0])).reserved = count

    def begin(self, call: CloudCall, asker: Asker, now: float) -> None:
        """Raises Trouble if it is not its turn. Who waits only for the request keeps his turn to have a server."""
        who = asker.controller, asker.key
        if _makes(call, asker):
            self._servers.take(call.uid, who, now)
        self._of((call.do, call.slot[0])).take(call.uid, who, now)

    def end(self, call: CloudCall, asker: Asker, id_: str, now: float) -> list[Who]:
        """The request has ended, well if it brought an id; whose turn it is."""
        told = self._of((call.do, call.slot[0])).end(call.uid, now, well=bool(id_))
        if call.do == "create" and call.slot == SERVER and id_:
            self._made_for[id_] = call.uid
        elif call.do == "delete" or (_makes(call, asker) and not id_):
            told += self._servers.end(call.uid, now, well=False)
        return told

    def _of(self, kind: tuple[str, str]) -> ConcurrencyLimiter:
        if kind not in self._requests:
            busy = f"other requests of this project to {' '.join(kind)} are in progress"
            self._requests[kind] = ConcurrencyLimiter(busy, *REQUESTS)
        return self._requests[kind]

    def built(self, servers: Mapping[str, bool], now: float) -> list[Who]:
        """Id of a server that is not being built any more → whether it went well; whose turn it is."""
        ended = [(self._made_for.pop(id_), well) for id_, well in servers.items() if id_ in self._made_for]
        return [who for uid, well in ended for who in self._servers.end(uid, now, well=well)]


def _makes(call: CloudCall, asker: Asker) -> bool:
    return call.do == "create" and SERVER[0] in asker.kinds
