"""The real port to OpenStack, between the controllers of a world and its cloud in memory.

The cloud in memory has one list of all resources, which is never outdated. The real port has its own lists, which may
be outdated, partial, or lists of changes. So only the real port shows how a controller handles such lists.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
import yaml

from stackwright.adapters.openstack.tenant import attempts, changes, clouds, lists, project_session
from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.adapters.openstack.transport import login, project_connection, single_flight
from stackwright.adapters.openstack.transport.send import CloudState
from stackwright.core.openstack.calls import ADD_INTERFACE, CloudCall
from stackwright.core.openstack.clouds import Query
from stackwright.core.openstack.clouds import run as submit
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudRef, CloudResource
from stackwright.core.plan import Key
from support.openstack import MemoryClouds
from tests.scenario.world import World

T = TypeVar("T")
ANSWER = 0.01  # duration of a request in seconds
NOVA = 5e8  # seconds that Nova's time of day is ahead of our monotonic clock
SECRETS = ("clouds", "others")


class Clock:
    """The clocks of the port; `ahead` is the difference between this machine's time of day and Nova's, in seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def nova(self) -> float:
        """Nova's time of day."""
        return self.monotonic() + NOVA

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() + 100_000.0

    def time(self) -> float:
        return self.nova() + self.ahead

    perf_counter = monotonic


class Connection:
    """A connection to a cloud in memory, with the time of Nova's last change of servers."""

    def __init__(self, cloud: MemoryClouds, ref: CloudRef, clock: Clock) -> None:
        self.cloud, self.ref, self.current_project_id = cloud, ref, cloud.place
        self._clock, self.session = clock, SimpleNamespace(auth=None)
        self._known: dict[tuple[str, str], CloudResource] = {}
        self._changed: dict[tuple[str, str], float] = {}

    def close(self) -> None:
        pass

    def fetch(self, what: str, since: str = "") -> list[CloudResource]:
        self.cloud._may("look")
        self.cloud.looks += 1
        found = self._now(what)
        if since:
            return [each for each in found if self._since(each, since)]
        return [each for each in found if each.state != "DELETED"]

    def peek(self, what: str, since: str) -> list[str]:
        return [each.id for each in self._now(what) if each.state == TYPES[what].built and self._since(each, since)]

    def single(self, what: str, id_: str) -> CloudResource | None:
        return next((each for each in self.cloud.all(what) if each.id == id_), None)

    def find(self, asked: Query) -> tuple[CloudResource, ...]:
        return at_once(self.cloud.find(self.ref, asked))

    def run(self, call: CloudCall, user_data: bytes | None) -> tuple[str, Any]:
        """Execute a call. Returns the id, and the resource in place of its JSON."""
        there = self.single(call.resource_key[0], call.id)
        id_ = at_once(submit(self.cloud, call))
        if call.do == "delete":
            return id_, {} if there else None
        port = call.body.get(ADD_INTERFACE)
        return id_, self.single("port", port) if port else self.single(call.resource_key[0], id_)

    def changed_at(self, id_: str, ahead: float) -> None:
        """Simulate a change of a server while the clock of one of Nova's hosts was ahead."""
        self._now("server")
        self._changed["server", id_] = self._clock.nova() // 1 + ahead

    def deleted(self, count: int) -> None:
        """Add this many servers that other clients created and deleted."""
        for number in range(count):
            thing = CloudResource("server", f"gone-{number}", state="DELETED")
            self._known["server", thing.id] = thing
            self._changed["server", thing.id] = self._clock.nova() // 1

    def _now(self, what: str) -> list[CloudResource]:
        """The existing resources, and deleted servers."""
        found = {(each.type, each.id): each for each in self.cloud.all(what)}
        if what == "server":
            gone = {key: replace(each, state="DELETED") for key, each in self._known.items() if key not in found}
            for key, each in {**found, **gone}.items():
                if self._known.get(key) != each:
                    self._known[key], self._changed[key] = each, self._clock.nova() // 1
            found |= gone
        return [each for each in found.values() if what not in getattr(self.cloud, "hidden", ())]

    def _since(self, thing: CloudResource, since: str) -> bool:
        return self._changed[thing.type, thing.id] >= datetime.fromisoformat(since).timestamp()


def at_once(answer: Coroutine[Any, Any, T]) -> T:
    try:
        answer.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    raise AssertionError("a cloud in memory waits for nothing")


async def in_place(threads: Any, what: Callable[..., T], *args: Any) -> T:
    """Run a call immediately instead of in a thread."""
    await asyncio.sleep(ANSWER)
    return what(*args)


class RealPort:
    """Connects worlds to their clouds through the real port."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Clock()
        self.state = CloudState(issued=NOVA)
        self._clouds: list[MemoryClouds] = []
        for module in (attempts, changes, clouds, lists, project_session, single_flight, project_connection, login):
            monkeypatch.setattr(module, "time", self.clock)
        for module, name in ((lists, "fetch"), (lists, "peek"), (lists, "single"), (clouds, "find"), (changes, "run")):
            monkeypatch.setattr(module, name, lambda made, *args, name=name: getattr(made, name)(*args))
        monkeypatch.setattr(changes, "resource_of", lambda what, thing: thing)
        monkeypatch.setattr(project_connection, "in_cloud_thread", in_place)
        monkeypatch.setattr(project_connection, "connection", self._connection)
        monkeypatch.setattr(project_connection, "state_of", lambda connection: self.state)
        monkeypatch.setattr(login, "in_cloud_thread", in_place)
        monkeypatch.setattr(World, "port", lambda world, queue: self.to(world.clouds, lambda *item: queue.add(item)))

    def _connection(self, found: login.Login, *_: Any) -> Connection:
        auth = found.entry["auth"]
        cloud, ref = self._clouds[int(auth["project_name"])], CloudRef(("", auth["username"]), "")
        self.connection = Connection(cloud, ref, self.clock)
        return self.connection

    def to(
        self, cloud: MemoryClouds, tell: Callable[[str, Key], None] = lambda controller, key: None
    ) -> OpenStackClouds:
        self._clouds.append(cloud)
        number = str(len(self._clouds) - 1)

        async def secrets(key: Key) -> Any:
            if key[1] in getattr(cloud, "locked", ()):
                return None
            auth = {"auth_url": "https://k/v3", "username": key[1], "password": "x", "project_name": number}
            text = yaml.safe_dump({"clouds": {"mine": {"auth": auth}}})
            return {"data": {"clouds.yaml": b64encode(text.encode()).decode(), "value": ""}}

        return OpenStackClouds(secrets, tell)


@pytest.fixture
def real_port(monkeypatch: pytest.MonkeyPatch) -> RealPort:
    return RealPort(monkeypatch)
