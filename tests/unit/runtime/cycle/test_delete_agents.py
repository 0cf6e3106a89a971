"""The outcome of an attempt to delete agents, as it is stored for the next decision."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.core.errors import TransientError
from stackwright.core.objects import DIGEST, annotation
from stackwright.core.plan import DeleteAgents, Inventory
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.memory import FrozenClock, MemoryAgents, MemoryCluster, MemoryContents
from support.ports import memory_ports

KEY, ADMIN, AGENT = ("n", "nova-inventory"), ("n", "admin"), "nova-compute@node2"
OTHER = "nova-compute@node3"


class World:
    def __init__(self) -> None:
        self.clock = FrozenClock(1000.0)
        self.cluster = MemoryCluster(clock=self.clock)
        self.agents, self.contents = MemoryAgents(), MemoryContents()
        ports = memory_ports(self.cluster, self.clock)
        self.ports = replace(ports, agents=self.agents, contents=self.contents)
        self.owner = self.cluster.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": "owner"}})
        password = base64.b64encode(b"x").decode()
        self.cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "admin"}, "data": {"password": password}})

    async def attempt(self, *names: str, now: float = 1000.0) -> tuple[dict[str, Any], str, str]:
        """The stored outcome, the time since which it is the same, and its time."""
        self.clock.time = now
        look = Inventory(KEY, self.owner, "compute", (AGENT, OTHER), ADMIN)
        await execute([DeleteAgents(look, names)], self.ports, "m")
        found = self.cluster.peek(CONFIGMAP, KEY)
        assert found is not None
        return json.loads(found["data"]["held.json"]), found["data"]["since"], annotation(found, DIGEST)


@pytest.fixture
def world() -> World:
    return World()


async def test_the_time_since_which_an_outcome_is_the_same_is_kept(world: World) -> None:
    world.contents.things = {AGENT: ["server web"]}
    assert await world.attempt(AGENT) == ({AGENT: ["server web"]}, "1000", "1000")
    assert await world.attempt(AGENT, now=1120.5) == ({AGENT: ["server web"]}, "1000", "1120")
    world.contents.things = {AGENT: ["server db"]}
    assert await world.attempt(AGENT, now=1240.0) == ({AGENT: ["server db"]}, "1240", "1240")
    assert await world.attempt(AGENT, OTHER, now=1300.0) == ({AGENT: ["server db"], OTHER: []}, "1300", "1300")


async def test_an_error_is_stored_without_what_differs_from_attempt_to_attempt(world: World) -> None:
    for number in "12":
        error = f"Waiting for compute:\n503 (HTTP 503) (Request-ID: req-0000000{number})"
        world.agents.fail["compute"] = TransientError(error)
        stored, since, _ = await world.attempt(AGENT, now=1000.0 + int(number))
        assert (stored, since) == ({AGENT: ["Waiting for compute: 503 (HTTP 503)"]}, "1001")


async def test_an_attempt_without_agents_drops_the_outcome_and_asks_nobody(world: World) -> None:
    world.contents.things = {AGENT: ["server web"]}
    await world.attempt(AGENT)
    world.cluster.remove(SECRET, ADMIN)
    assert await world.attempt(now=1001.0) == ({}, "1001", "1001")
    assert world.agents.calls == []


@pytest.mark.parametrize(
    ("annotations", "since"),
    [
        ({DIGEST: "1000"}, "soon"),
        ({DIGEST: "1000"}, "9" * 400),
        ({DIGEST: "2000"}, "500"),
        ({DIGEST: "9" * 400}, "500"),
        ({DIGEST: "50"}, "40"),
        ({}, "500"),
    ],
)
async def test_the_time_in_a_result_that_is_old_or_was_edited_proves_nothing(
    world: World, annotations: dict[str, str], since: str
) -> None:
    await world.attempt(AGENT)
    found = world.cluster.peek(CONFIGMAP, KEY)
    assert found is not None
    edited = {**found["metadata"], "annotations": annotations}
    world.cluster.put(CONFIGMAP, {**found, "metadata": edited, "data": {**found["data"], "since": since}})
    _, since, made = await world.attempt(AGENT, now=1010.0)
    assert int(since) >= 1000 and made == "1010"


async def test_an_inventory_is_stored_with_the_time_of_its_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def held(*_: object) -> dict[str, list[str]]:
        world.clock.forward(300.0)
        return {"images": []}

    monkeypatch.setattr(world.contents, "held", held)
    for ended in (1300, 1600):
        await execute([Inventory(KEY, world.owner, "image", ("images",), ADMIN)], world.ports, "m")
        found = world.cluster.peek(CONFIGMAP, KEY)
        assert found is not None
        assert (annotation(found, DIGEST), found["data"]["since"]) == (str(ended), "1300")
