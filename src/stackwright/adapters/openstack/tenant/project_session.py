"""State that all objects with the same credentials share: connection, snapshot, responses to queries, limits."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field, replace

from stackwright.adapters.openstack.tenant.confirm import CONFIRM, is_confirmed
from stackwright.adapters.openstack.tenant.limiter import Scheduler, Subscriber
from stackwright.adapters.openstack.tenant.single_flight import SingleFlight
from stackwright.adapters.openstack.tenant.snapshot import SETTLE, Snapshot
from stackwright.adapters.openstack.transport.project_connection import ProjectConnection
from stackwright.core.openstack.clouds import Query, Subscription
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudResource

ANSWER = 60.0  # seconds for which a response to a query is valid
ANSWERS = 8 << 20  # bytes of cached queries and responses per project
FORGET = 3600.0  # seconds without a look until an object is dropped; objects look every minute unless paused


@dataclass
class SubscriptionState:
    """known   its first look preceded all its requests, so all of them were sent by this process. An object that
        returns after its entry expired is not known; it only waits until requests of an earlier process settle
    looked  time of its last look
    doubted time when it was last woken because a list lacked a resource
    served  time when it last got another resource to serve
    waits   time until which it counts as waiting
    began   time of its first look
    firsts  for an object that was moved: type → start of the first whole list since `began`
    """

    asker: Subscription
    known: bool
    began: float
    looked: float = 0.0
    waits: float = 0.0
    doubted: float = -FORGET
    served: float = 0.0
    firsts: dict[str, float] = field(default_factory=dict)

    def needs_list(self, what: str, taken: float) -> bool:
        """Whether a moved object still needs a whole list that began after `began`; `taken`: start of the last list."""
        if self.asker.moved and taken >= self.began:
            self.firsts.setdefault(what, taken)
        return bool(self.asker.moved) and what not in self.firsts

    def proof(self, what: str) -> float:
        """Time from which a whole list proves absence to an object that was moved.

        Until then it had another operator, whose last request may still be in progress. And as for the first list of
        a login, there is no earlier list that shows what the first one lacks.
        """
        return max(self.began + SETTLE, self.firsts[what] + CONFIRM) if what in self.firsts else 0.0


@dataclass(eq=False)
class Attempt:
    """Unfinished looks of one object; `began` is the start of the first one, `last` of the latest.

    project  project of the look
    awaits   queries whose responses were late
    """

    who: Subscriber
    began: float
    last: float
    project: Project | None = None
    awaits: set[Query] = field(default_factory=set)

    @property
    def since(self) -> float:
        """Time after which responses are valid for it."""
        return max(self.began, time.monotonic() - FORGET)


@dataclass
class Answer:
    """weight  approximate size in bytes
    waiting  attempts to wake when the response arrives
    """

    at: float = -FORGET
    weight: int = 1000
    things: tuple[CloudResource, ...] = ()
    flight: SingleFlight[None] = field(default_factory=SingleFlight)
    waiting: set[Attempt] = field(default_factory=set)

    def holds(self, since: float = math.inf) -> bool:
        """Whether the response is valid. An attempt that began at `since` accepts each response of a later time.

        An empty response is valid for only 2 s, because a user may be creating the missing resource.
        """
        return self.at >= since or time.monotonic() - self.at < (ANSWER if self.things else 2.0)

    def due(self, since: float) -> bool:
        """Whether the response has expired for all objects, and no request for it is in progress."""
        return not (self.holds(since) or self.flight.flies)


@dataclass
class Project:
    """used  time of the last use;  askers  by uid"""

    connection: ProjectConnection
    snapshot: Snapshot
    used: float = 0.0
    answers: dict[Query, Answer] = field(default_factory=dict)
    askers: dict[str, SubscriptionState] = field(default_factory=dict)
    lists: dict[str, SingleFlight[None]] = field(default_factory=dict)
    whole: SingleFlight[None] = field(default_factory=SingleFlight)
    part: SingleFlight[None] = field(default_factory=SingleFlight)
    order: Scheduler = field(default_factory=Scheduler)
    watch: asyncio.Task[None] | None = None

    @property
    def watched(self) -> bool:
        """Whether the watch task runs; it refreshes servers and volumes while an object waits."""
        return self.watch is not None and not self.watch.done()

    @property
    def listing(self) -> int:
        """Number of lists of servers in progress."""
        return self.whole.flies + self.part.flies

    def asking(self, asker: Subscription) -> SubscriptionState:
        """The state of an object; of one that was moved here since its last look, a new one."""
        asking = self.askers.get(asker.uid)
        if asking is None or (asker.moved and asker.moved != asking.asker.moved):
            asking = SubscriptionState(replace(asker, serves=frozenset()), not asker.begun, time.monotonic())
            self.askers[asker.uid] = asking
        return asking

    def kinds(self, asker: Subscription) -> frozenset[str]:
        """Types of the object that the cloud has. Types with a recorded id are included, even if the cloud reports no
        service.
        """
        return frozenset(asker.kinds) - (self.snapshot.absent.keys() - {what for what, _ in asker.ids})

    def listed(self, asker: Subscription) -> frozenset[str]:
        """The types in `kinds` that have been listed."""
        return self.kinds(asker) & self.snapshot.taken.keys()

    def is_sure(self, asker: Subscription) -> bool:
        """Whether no list of `kinds` is doubtful or missing, and each recorded id exists or is proven to be deleted."""
        lacked = self.snapshot.lacked.keys() - self.snapshot.absent.keys()
        doubted = self.kinds(asker) & (self.snapshot.doubts.lists.keys() | lacked)
        return not doubted and is_confirmed(self.snapshot, asker, self.listed(asker))

    def keeps(self, what: str, asker: Subscription, settled: float) -> bool:
        """Whether a waiting object needs no request: the watch refreshes this type, or the object has none of it."""
        if not TYPES[what].built or not self.watched or what in self.snapshot.doubts.lists:
            return False
        if what == "server" or any(kind == what for kind, _ in self.snapshot.ids_of(asker)):
            return self.snapshot.kept(what, settled, time.monotonic())
        return self.snapshot.does(what, settled)

    def trim(self) -> None:
        """Drop the oldest responses until the cache fits into ANSWERS."""
        weight = sum(each.weight for each in self.answers.values())
        if weight <= ANSWERS:
            return
        for asked in [asked for asked, each in self.answers.items() if not each.flight.flies]:
            weight -= self.answers.pop(asked).weight
            if weight <= ANSWERS:
                return

    def waiting(self) -> list[Subscription]:
        now = time.monotonic()
        return [each.asker for each in self.askers.values() if each.waits > now]

    def having(self, thing: tuple[str, str]) -> list[Subscription]:
        return [each.asker for each in self.askers.values() if thing in each.asker.ids]

    def awaited(self) -> frozenset[tuple[str, str]]:
        """Ids of the resources of waiting objects."""
        return frozenset[tuple[str, str]]().union(*map(self.snapshot.ids_of, self.waiting()))

    def forget(self, before: float, since: float = math.inf) -> None:
        """Drop objects whose last look was earlier than `before`, and responses that have expired for all objects
        (`since`: see `Answer`).
        """
        self.askers = {uid: each for uid, each in self.askers.items() if each.looked >= before}
        self.answers = {asked: each for asked, each in self.answers.items() if not each.due(since)}
        self.snapshot.forget(before)
        self.snapshot.doubts.forget(frozenset[tuple[str, str]]().union(*(e.asker.ids for e in self.askers.values())))

    def close(self) -> None:
        if self.watch:
            self.watch.cancel()
        for flight in (
            self.whole,
            self.part,
            *self.lists.values(),
            *(answer.flight for answer in self.answers.values()),
        ):
            flight.cancel()
        self.connection.close()
