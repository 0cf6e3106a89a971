"""What all who use the same credentials share: their line, the picture of the project, answers to questions, turns."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field

from stackwright.adapters.openstack.tenant.limiter import Scheduler, Who
from stackwright.adapters.openstack.tenant.single_flight import SingleFlight
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.adapters.openstack.transport.connection_pool import Line
from stackwright.core.openstack.clouds import Asker, Question, Thing

ANSWER = 60.0  # seconds that an answer to a question holds
WATCHED = frozenset({"server", "volume"})  # they come and go by themselves
ANSWERS = 8 << 20  # bytes of questions and answers that are kept of a project
FORGET = 3600.0  # seconds; who is there looks every minute, unless it is paused


@dataclass
class Asking:
    """known   it came before anything was begun for it, so this process knows of all that was; who comes back after he
        was forgotten is taken for one of a predecessor, which is of no consequence once that one's requests are settled
    looked  when it did last
    doubted when it was last asked to look again because a list lacked something
    waits   until when it is taken to wait
    """

    asker: Asker
    known: bool
    looked: float = 0.0
    waits: float = 0.0
    doubted: float = -FORGET


@dataclass(eq=False)
class Attempt:
    """Looks of one object of which none has ended: the first one `began` then, the `last` one then.

    project  where it asks
    awaits   what it could not wait for that long
    """

    who: Who
    began: float
    last: float
    project: Project | None = None
    awaits: set[Question] = field(default_factory=set)

    @property
    def since(self) -> float:
        """Answers that came later count for it."""
        return max(self.began, time.monotonic() - FORGET)


@dataclass
class Answer:
    """weight  about as many bytes as it takes
    told    who hears of it when it is there
    """

    at: float = -FORGET
    weight: int = 1000
    things: tuple[Thing, ...] = ()
    flight: SingleFlight[None] = field(default_factory=SingleFlight)
    told: set[Attempt] = field(default_factory=set)

    def holds(self, since: float = math.inf) -> bool:
        """For one whose looks have not ended `since` then, what came later does.

        That there is none is asked again at once: somebody may be about to make it.
        """
        return self.at >= since or time.monotonic() - self.at < (ANSWER if self.things else 2.0)

    def due(self, since: float) -> bool:
        """Nobody has any use for it."""
        return not (self.holds(since) or self.flight.flies)


@dataclass
class Project:
    """used  when somebody last came;  askers  by uid"""

    line: Line
    snapshot: Snapshot
    used: float = 0.0
    answers: dict[Question, Answer] = field(default_factory=dict)
    askers: dict[str, Asking] = field(default_factory=dict)
    lists: dict[str, SingleFlight[None]] = field(default_factory=dict)
    whole: SingleFlight[None] = field(default_factory=SingleFlight)
    part: SingleFlight[None] = field(default_factory=SingleFlight)
    order: Scheduler = field(default_factory=Scheduler)
    watch: asyncio.Task[None] | None = None

    @property
    def watched(self) -> bool:
        """As long as somebody waits, what he waits for is asked for again and again."""
        return self.watch is not None and not self.watch.done()

    @property
    def listing(self) -> int:
        """Lists of servers that are on their way."""
        return self.whole.flies + self.part.flies

    def keeps(self, what: str, asker: Asker, settled: float) -> bool:
        """Whether who waits need not ask: it is watched, or he has nothing of it."""
        if what not in WATCHED or not self.watched or what in self.snapshot.doubts.lists:
            return False
        if what == "server" or any(kind == what for kind, _ in asker.ids):
            return self.snapshot.kept(what, settled, time.monotonic())
        return self.snapshot.does(what, settled)

    def trim(self) -> None:
        """The oldest answers go where there are too many."""
        weight = sum(each.weight for each in self.answers.values())
        if weight <= ANSWERS:
            return
        for asked in [asked for asked, each in self.answers.items() if not each.flight.flies]:
            weight -= self.answers.pop(asked).weight
            if weight <= ANSWERS:
                return

    def waiting(self) -> list[Asker]:
        now = time.monotonic()
        return [each.asker for each in self.askers.values() if each.waits > now]

    def having(self, thing: tuple[str, str]) -> list[Asker]:
        return [each.asker for each in self.askers.values() if thing in each.asker.ids]

    def awaited(self) -> frozenset[tuple[str, str]]:
        """What those who wait have."""
        return frozenset[tuple[str, str]]().union(*(asker.ids for asker in self.waiting()))

    def forget(self, before: float, since: float = math.inf) -> None:
        """Who last looked `before`, and answers that hold for nobody, also not for looks that began `since` then."""
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
        self.line.close()
