"""Limits the concurrent requests of a project to the largest number at which its OpenStack responds about as fast as to
a few.

OpenStack accepts any number of requests and processes all concurrently, each slower than alone: in a small cloud, 500
new servers delay the messages that complete the first ones, and the requests for their state. The limit is derived from
the duration of each request: one about as fast as the fastest recent one raises it, a much slower one lowers it.
Callers over the limit are requeued when a slot frees; they hold no worker. Only requests of this process are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackwright.adapters.openstack.tenant.rest.rest_types import REST
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Deferred, Subscription
from stackwright.core.openstack.errors import Reason
from stackwright.core.plan import Key

REQUESTS = 1, 2  # initial and highest limit per kind of request; each uses a worker of the operator and one of the API
BUILDS = 4, 100  # the same for resources of one type that are being built
LONG = 300.0  # seconds after which an unfinished request frees its slot
HELD = 10.0  # seconds that a freed slot is reserved for the caller that was woken
AFTER = 60.0  # seconds until a waiting caller retries, if its wake-up is lost
SLOW = 2.0  # multiple of the fastest duration above which a request is slow
OLD = 1.01  # growth of the fastest duration with each request: a cloud may have become slower permanently
MORE, FEWER = 0.5, 0.95  # a fast request adds MORE to the limit, a slow one multiplies it by FEWER
Subscriber = tuple[str, Key]  # controller and key of a subscribed object


@dataclass(frozen=True)
class _Slot:
    until: float
    began: float | None = None
    """None while the slot is reserved and not yet taken."""


class ConcurrencyLimiter:
    """Times are those of a monotonic clock; slots are held by uid."""

    def __init__(self, busy: str, least: int, most: int) -> None:
        """`busy`: description of the requests in progress, for messages; `least`: initial and lowest limit; `most`:
        highest one.
        """
        self._busy, self._least, self._most = busy, least, most
        self._limit, self._quickest = float(least), LONG
        self._turns: dict[str, _Slot] = {}
        self._queue: dict[str, Subscriber] = {}  # by uid, in order of arrival
        self.reserved = 0
        """Slots that are unavailable for now; one always stays available."""

    @property
    def at_once(self) -> int:
        return max(1, int(self._limit) - self.reserved)

    def take(self, uid: str, who: Subscriber, now: float) -> Deferred | None:
        """Take a slot; if none is free, queue the caller."""
        self._expire(now)
        if uid not in self._turns and len(self._turns) >= self.at_once:
            self._queue.setdefault(uid, who)
            # The number in progress is left out: it changes, and each new message is a write that wakes all watchers.
            return Deferred(Reason.WAITING_FOR_TURN, f"Waiting for a free slot: {self._busy}", AFTER)
        self._queue.pop(uid, None)
        had = self._turns.get(uid)
        self._turns[uid] = _Slot(now + LONG, had.began if had and had.began is not None else now)
        return None

    def end(self, uid: str, now: float, *, well: bool = True) -> list[Subscriber]:
        """Free the slot; returns the callers that get one. The duration is used only if the request went `well`."""
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

    def _give(self, now: float) -> list[Subscriber]:
        due = list(self._queue)[: max(0, self.at_once - len(self._turns))]
        self._turns.update(dict.fromkeys(due, _Slot(now + HELD)))
        return [self._queue.pop(uid) for uid in due]


class Scheduler:
    """Limits of one project: one per kind of request, and one for servers together with their ports and volumes.

    A server, as any type with `RestFacts.building`, holds its slot from the creation of its first port or volume until
    it is built: ports of servers at the end of the queue would delay servers in progress. A list of servers loads
    Nova's API as much as a creation and takes one of its slots; otherwise both would delay requests for the state of
    servers.
    """

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str], ConcurrencyLimiter] = {}  # by verb and resource type
        self._builds = {
            what: ConcurrencyLimiter(f"other {what}s of this project are being created", *BUILDS)
            for what, rest in REST.items()
            if rest.building
        }
        self._made_for: dict[tuple[str, str], str] = {}  # type and id of a resource → uid of its object

    def lists(self, counts: Mapping[str, int]) -> None:
        """Set the numbers of lists in progress, by type."""
        for what, count in counts.items():
            self._of(("create", what)).reserved = count

    def begin(self, call: CloudCall, subscription: Subscription, now: float) -> Deferred | None:
        """Take the slots for a call. If one is missing, the call is deferred; a slot for a server is kept meanwhile."""
        who = subscription.controller, subscription.key
        for limiter in self._building(call, subscription):
            if deferred := limiter.take(call.uid, who, now):
                return deferred
        return self._of((call.do, call.resource_key[0])).take(call.uid, who, now)

    def end(self, call: CloudCall, subscription: Subscription, id_: str, now: float) -> list[Subscriber]:
        """End a request, which succeeded if it has an id; returns the callers that get a slot."""
        what = call.resource_key[0]
        woken = self._of((call.do, what)).end(call.uid, now, well=bool(id_))
        if call.do == "create" and what in self._builds and id_:
            self._made_for[what, id_] = call.uid
        elif call.do == "delete" or not id_:
            ended = self._builds.values() if call.do == "delete" else self._building(call, subscription)
            woken += [who for each in ended for who in each.end(call.uid, now, well=False)]
        return woken

    def _building(self, call: CloudCall, subscription: Subscription) -> list[ConcurrencyLimiter]:
        """The limits of types that are built for the object, if the call creates something."""
        return [each for what, each in self._builds.items() if call.do == "create" and what in subscription.kinds]

    def _of(self, kind: tuple[str, str]) -> ConcurrencyLimiter:
        if kind not in self._requests:
            busy = f"other requests of this project to {' '.join(kind)} are in progress"
            self._requests[kind] = ConcurrencyLimiter(busy, *REQUESTS)
        return self._requests[kind]

    def built(self, things: Mapping[tuple[str, str], bool], now: float) -> list[Subscriber]:
        """Free the slots of resources that are no longer being built (type and id → whether successfully); returns the
        callers that get one.
        """
        ended = [(key[0], self._made_for.pop(key), well) for key, well in things.items() if key in self._made_for]
        return [who for what, uid, well in ended for who in self._builds[what].end(uid, now, well=well)]
