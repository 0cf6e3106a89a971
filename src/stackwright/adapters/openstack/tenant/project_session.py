"""State that all objects with the same credentials share: connection, snapshot, responses to queries, limits."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace

from stackwright.adapters.openstack.tenant.absence import RequiredLists
from stackwright.adapters.openstack.tenant.limiter import Scheduler, Subscriber
from stackwright.adapters.openstack.tenant.rest.rest_types import REST
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.adapters.openstack.transport.project_connection import ProjectConnection
from stackwright.adapters.openstack.transport.single_flight import SingleFlight
from stackwright.core.openstack.clouds import Query, Subscription
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudResource

ANSWER = 60.0  # seconds for which a response to a query is valid
ANSWERS = 8 << 20  # bytes of cached queries and responses per project
FORGET = 3600.0  # seconds without a look until an object is dropped; objects look every minute unless paused


@dataclass
class SubscriptionState:
    """looked  time of its last look
    waits   time until which it counts as waiting
    woken   time when it was last woken because a list lacked a resource
    """

    subscription: Subscription
    required: RequiredLists
    looked: float = 0.0
    waits: float = 0.0
    woken: float = -FORGET


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


def _flights() -> defaultdict[str, SingleFlight[None]]:
    return defaultdict(SingleFlight)


@dataclass
class Project:
    """used           time of the last use
    subscriptions  by uid
    lists          type → the list for which looks wait; `whole`, `part`: those in the background
    """

    connection: ProjectConnection
    snapshot: Snapshot
    used: float = 0.0
    answers: dict[Query, Answer] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionState] = field(default_factory=dict)
    lists: defaultdict[str, SingleFlight[None]] = field(default_factory=_flights)
    whole: defaultdict[str, SingleFlight[None]] = field(default_factory=_flights)
    part: defaultdict[str, SingleFlight[None]] = field(default_factory=_flights)
    order: Scheduler = field(default_factory=Scheduler)
    watch: asyncio.Task[None] | None = None

    @property
    def watched(self) -> bool:
        """Whether the watch task runs; it refreshes types with states while an object waits."""
        return self.watch is not None and not self.watch.done()

    @property
    def listing(self) -> dict[str, int]:
        """Type → number of its lists in the background."""
        return {what: self.whole[what].flies + self.part[what].flies for what in {*self.whole, *self.part}}

    def state_of(self, subscription: Subscription) -> SubscriptionState:
        """The state of an object; of one that was moved here since its last look, a new one."""
        state = self.subscriptions.get(subscription.uid)
        if state is None or (subscription.moved and subscription.moved != state.subscription.moved):
            required = RequiredLists(not subscription.begun, time.monotonic())
            state = SubscriptionState(replace(subscription, serves=frozenset()), required)
            self.subscriptions[subscription.uid] = state
        return state

    def kinds(self, subscription: Subscription) -> frozenset[str]:
        """Types of the object that the cloud has. Types with a recorded id are included, even if the cloud reports no
        service.
        """
        return frozenset(subscription.kinds) - (
            self.snapshot.evidence.missing_services.keys() - {what for what, _ in subscription.ids}
        )

    def lacking(self, subscription: Subscription) -> dict[str, str]:
        """Types with a recorded id whose API the cloud lacks → service of that API."""
        recorded = {what for what, _ in subscription.ids}
        return {what: REST[what].service for what in self.snapshot.evidence.missing_services if what in recorded}

    def listed(self, subscription: Subscription) -> frozenset[str]:
        """The types in `kinds` that have been listed, and can still be."""
        return self.kinds(subscription) & self.snapshot.taken.keys() - self.lacking(subscription).keys()

    def is_sure(self, subscription: Subscription) -> bool:
        """Whether no list of `kinds` is doubtful or missing, and each recorded id exists or is proven to be deleted."""
        return self.snapshot.evidence.is_sure(self.kinds(subscription), self.unconfirmed(subscription))

    def unconfirmed(self, subscription: Subscription) -> set[tuple[str, str]]:
        """Recorded ids of the object that the lists lack and that are not confirmed to be deleted."""
        return self.snapshot.evidence.unconfirmed(subscription.ids, self.listed(subscription), self.snapshot.things)

    def keeps(self, what: str, subscription: Subscription, settled: float) -> bool:
        """Whether a waiting object needs no request: the watch refreshes this type, or the object has none of it."""
        if not TYPES[what].built or not self.watched or what in self.snapshot.evidence.short_lists:
            return False
        if REST[what].lists.watched or any(kind == what for kind, _ in self.snapshot.ids_of(subscription)):
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
        return [each.subscription for each in self.subscriptions.values() if each.waits > now]

    def having(self, thing: tuple[str, str]) -> list[Subscription]:
        return [each.subscription for each in self.subscriptions.values() if thing in each.subscription.ids]

    def awaited(self) -> frozenset[tuple[str, str]]:
        """Ids of the resources of waiting objects."""
        return frozenset[tuple[str, str]]().union(*map(self.snapshot.ids_of, self.waiting()))

    def forget(self, before: float, since: float = math.inf) -> None:
        """Drop objects whose last look was earlier than `before`, and responses that have expired for all objects
        (`since`: see `Answer`).
        """
        self.subscriptions = {uid: each for uid, each in self.subscriptions.items() if each.looked >= before}
        self.answers = {asked: each for asked, each in self.answers.items() if not each.due(since)}
        self.snapshot.forget(before)
        self.snapshot.evidence.forget(
            frozenset[tuple[str, str]]().union(*(e.subscription.ids for e in self.subscriptions.values()))
        )

    def close(self) -> None:
        if self.watch:
            self.watch.cancel()
        for flight in (
            *self.whole.values(),
            *self.part.values(),
            *self.lists.values(),
            *(answer.flight for answer in self.answers.values()),
        ):
            flight.cancel()
        self.connection.close()
