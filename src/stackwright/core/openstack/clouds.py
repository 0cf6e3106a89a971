"""An OpenStack, any, as controllers see it: things that are there, and the port through which they look and ask. Pure.

What an object of ours has made is known in two ways: by the id in its status, and by a mark that is written into the
thing by the very request that makes it. The id is the record; the mark finds what was made by a process that died
before it could write the id down. Nova's tags, Cinder's metadata and Neutron's descriptions can hold a mark at once;
Neutron's tags cannot, they are set by a second request.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

from stackwright.core.conditions import steady
from stackwright.core.digest import digest
from stackwright.core.plan import Action, Key
from stackwright.core.ports import NotYet, Refused

Do = Literal["create", "update", "delete"]
What = Literal[
    "server", "port", "trunk", "volume", "floating-ip",
    "network", "subnet", "router", "security-group", "security-group-rule",
]  # fmt: skip
Slot = tuple[What, str]  # a thing of an object: what it is, and its name among those
SERVER: Slot = ("server", "")
PREFIX = "stackwright"
REMOVALS = 10  # things of an OpenStack that one plan takes away: each may take a minute
# Seconds that one look, and one action, may take: it is for an OpenStack to say how many requests that are.
LONGEST = 300.0
LATE = f"the OpenStack took longer than {LONGEST:.0f} s to answer"
A = TypeVar("A", bound=Action)
CREATED = "created_at"  # of a volume, among its facts: seconds since 1970
# Of a volume, among its facts: its metadata has its own id, written when the request that made it was answered.
ANSWERED = "answered"
# In the place of a field of a router or a server: what it gets, by a request of its own. The value is an id.
ADD_INTERFACE, ADD_PORT, ADD_VOLUME = "add_interface", "add_port", "add_volume"


def mark(uid: str, slot: Slot) -> str:
    """At most 60 characters, as many as a tag of Nova may have."""
    return f"{PREFIX}:{uid}:{digest(slot)[:8]}"


@dataclass(frozen=True)
class CloudRef:
    """Where to log in: a cloud of the clouds.yaml in a Secret; the region is that of the clouds.yaml if empty."""

    secret: Key
    cloud: str
    region: str = ""

    def __str__(self) -> str:
        return f"cloud {self.cloud} of Secret {'/'.join(self.secret)}"


@dataclass(frozen=True)
class Thing:
    """state   Nova's, Cinder's or Neutron's own word for how it is
    facts   what decisions read of it beside, by the names of its API
    """

    what: str
    id: str
    name: str = ""
    state: str = ""
    mark: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def weight(self) -> int:
        """About as many bytes as it takes. It is asked for at each look."""
        return 400 + len(ascii(self))


def marked_by(thing: Thing, uid: str) -> bool:
    """Whether it was made for the object with this uid."""
    return thing.mark.startswith(f"{PREFIX}:{uid}:")


@dataclass(frozen=True)
class Look:
    """What an object has: the things of its record that are there, and all with its mark.

    settled  nothing that was asked for earlier can still be on its way, so what was looked at and is not here is gone
    unseen   what was not looked at: whoever waits for nothing is told of servers often, and of the rest now and then
    place    id of the project, and @ the region where the credentials name one; empty while no cloud has answered
    """

    things: tuple[Thing, ...] = ()
    settled: bool = True
    unseen: frozenset[str] = frozenset()
    place: str = ""

    @property
    def certain(self) -> bool:
        """What is not here is not there, of whatever kind."""
        return self.settled and not self.unseen

    @cached_property
    def _by_id(self) -> Mapping[tuple[str, str], Thing]:
        """It is for an OpenStack to say how many things there are, and each may be asked for."""
        return {(thing.what, thing.id): thing for thing in reversed(self.things)}

    @cached_property
    def _by_mark(self) -> Mapping[str, Sequence[Thing]]:
        found: dict[str, list[Thing]] = {}
        for thing in self.things:
            found.setdefault(thing.mark, []).append(thing)
        return found

    def get(self, slot: Slot, id_: str) -> Thing | None:
        return self._by_id.get((slot[0], id_))

    def marked(self, uid: str, slot: Slot) -> tuple[Thing, ...]:
        """Usually none or one: two where a request succeeded that had seemed to fail, or of a copy.

        What was made by a request that was answered comes first, then the oldest.
        """
        return tuple(sorted(self._by_mark.get(mark(uid, slot), ()), key=_rank))


def _rank(thing: Thing) -> tuple[bool, float, str]:
    created = thing.facts.get(CREATED)
    return (not thing.facts.get(ANSWERED), math.inf if created is None else created, thing.id)


@dataclass(frozen=True)
class Asker:
    """Who looks: the object, which hears of changes, and what it knows to be its own.

    kinds  what it can have
    waits  it waits for a change, so the cloud is looked at often; else as often as needed to notice drift
    begun  something may have been made for it already, perhaps by a process before this one
    """

    controller: str
    key: Key
    uid: str
    kinds: tuple[What, ...]
    ids: frozenset[tuple[str, str]] = frozenset()
    waits: bool = False
    begun: bool = True


@dataclass(frozen=True)
class Question:
    """A search for what is not ours. `where` are filters as the API names them; a list value means all of them.

    whole  a part of the list would be taken for all of it: then there is Trouble instead
    """

    what: str
    where: tuple[tuple[str, Any], ...]
    whole: bool = False

    def __str__(self) -> str:
        return f"{self.what} with {', '.join(f'{name} {value}' for name, value in self.where)}"


def question(what: str, **where: Any) -> Question:
    """Without the filters that are not set."""
    pairs = ((name, tuple(v) if isinstance(v, list) else v) for name, v in where.items())
    return Question(what, tuple(sorted((name, v) for name, v in pairs if v not in (None, "", ()))))


def every(what: str, **where: Any) -> Question:
    """For the whole list."""
    return replace(question(what, **where), whole=True)


@dataclass(frozen=True)
class Made:
    """In the place of an id, in a plan: that of what the plan's own call makes."""

    slot: Slot

    def __str__(self) -> str:
        return f"(known after {' '.join(part for part in self.slot if part)} is made)"


@dataclass(frozen=True)
class CloudCall(Action):
    """One change in an OpenStack.

    body       of the request, without the mark
    user_data  the Secret and its key with what a server is told at its first start
    uid        of the object whose thing it is
    """

    verb = "openstack"
    cloud: CloudRef
    do: Do
    slot: Slot
    uid: str
    id: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    user_data: tuple[Key, str] | None = None
    why: str = ""

    @property
    def target(self) -> str:
        what, name = self.slot
        shown = str(self.body.get("name") or name)
        return f"{self.do} {what}{f' {shown}' if shown else ''}{f' {self.id}' if self.id else ''}"


def at_once(actions: Iterable[A]) -> tuple[A, ...]:
    """At most REMOVALS deletions per plan: the remote cloud controls how many marked resources it reports."""
    removals = itertools.count()
    return tuple(each for each in actions if not removes(each) or next(removals) < REMOVALS)


def removes(action: Action) -> bool:
    return isinstance(action, CloudCall) and action.do == "delete"


class Trouble(NotYet):
    """The cloud cannot do it now. `reason` is that of the condition; `after` seconds until it is worth a try."""

    def __init__(self, reason: str, text: str, after: float | None = None) -> None:
        super().__init__(steady(text))
        self.reason, self.after = reason, after


class Denied(Refused):
    """The cloud will not do it until somebody changes something; `reason` is that of the condition."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(steady(text))
        self.reason = reason if reason.startswith("Blocked") else f"Blocked{reason}"


class Clouds(Protocol):
    """All OpenStacks of which there are credentials. Everything raises Trouble or Denied."""

    def in_time(self, controller: str, key: Key) -> AbstractAsyncContextManager[None]:
        """For all that one look of an object asks: it ends after LONGEST, by Trouble.

        What it was answered counts at its next looks, for an hour or until one of them ends without Trouble.
        """

    async def look(self, cloud: CloudRef, asker: Asker) -> Look:
        """What the object has; lists of a project are shared by all who look."""

    async def find(self, cloud: CloudRef, asked: Question) -> tuple[Thing, ...]:
        """What is found; an answer may be a minute old, or of an earlier look that has not ended."""

    async def find_all(self, cloud: CloudRef, asked: Sequence[Question]) -> Sequence[tuple[Thing, ...]]:
        """The same of several at once, which should be few."""

    async def run(self, call: CloudCall) -> str:
        """Do it, for one who looked; the id of what was made or changed. What is to be deleted may be gone.

        After LONGEST it is given up; what takes many requests goes on when it is asked for again.
        """


def fill(value: Any, made: Mapping[Slot, str]) -> Any:
    """A status with the ids that are known now."""
    if isinstance(value, Made):
        return made[value.slot]
    if isinstance(value, Mapping):
        return {name: fill(each, made) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [fill(each, made) for each in value]
    return value


def ids(things: Iterable[tuple[Slot, str]]) -> frozenset[tuple[str, str]]:
    return frozenset((slot[0], id_) for slot, id_ in things)
