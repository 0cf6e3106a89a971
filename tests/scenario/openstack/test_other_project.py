"""Credentials of another project or region than that of the resources: reported; nothing is created there or left
behind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.core.conditions import find
from stackwright.core.openstack.resources import CloudResource
from stackwright.core.plan import Object
from tests.scenario.capi_world import CLUSTERS, SERVERS, Clusters
from tests.scenario.pool_world import POOLS, pools
from tests.scenario.server_world import made
from tests.scenario.world import NAMESPACE, World

pytestmark = pytest.mark.looptime
# recorded project, that of the new credentials, and the message
MOVES = [
    ("project", "other", "project project: set credentials of that project"),
    ("project@R1", "project", "project project@R1: set credentials of that project and region"),
    ("project@R1", "project@R2", "project project@R1: set credentials of that project and region"),
    ("project", "project@R2", "another region of project project: set credentials of that project and region"),
]


async def server() -> World:
    return await made(trunk=True, recreatePolicy="Always")


async def cluster() -> World:
    world = Clusters()
    world.make(recreatePolicy="Always")
    await world.ready()
    return world


async def pool() -> World:
    world = await pools(reclaimPolicy="Delete")
    world.claim("a")
    await world.run(60)
    return world


EACH: list[tuple[Kind, str, Callable[[], Awaitable[World]]]] = [
    (SERVERS, "web", server), (CLUSTERS, "c", cluster), (POOLS, "p", pool),
]  # fmt: skip
each = pytest.mark.parametrize(("kind", "name", "start"), EACH, ids=lambda it: getattr(it, "__name__", ""))
moves = pytest.mark.parametrize(("was", "now", "said"), MOVES, ids=["project", "dropped", "region", "added"])


def there_is(world: World, kind: Kind, name: str) -> Object | None:
    return world.cluster.peek(kind, (NAMESPACE, name))


def status(world: World, kind: Kind, name: str) -> Object:
    return dict((there_is(world, kind, name) or {}).get("status") or {})


def told(world: World, kind: Kind, name: str) -> tuple[str, str]:
    entry = find(there_is(world, kind, name)) or {}
    return str(entry.get("reason")), str(entry.get("message"))


async def recorded(world: World, place: str) -> None:
    """Name the region in the credentials, if any, until it is recorded."""
    world.clouds.place = place
    await world.run(120)


def lead_away(world: World, place: str = "other") -> dict[tuple[str, str], CloudResource]:
    """Switch to a project with the resources that the specs name, and without ours. Returns the resources of the former
    project.
    """
    there = world.clouds.things
    ours = {id_ for (_, id_), thing in there.items() if thing.mark}
    world.clouds.things = {
        key: t for key, t in there.items() if key[1] not in ours and t.facts.get("security_group_id") not in ours
    }
    world.clouds.place = place
    return there


def lead_back(world: World, there: dict[tuple[str, str], CloudResource], place: str) -> None:
    world.clouds.things, world.clouds.place = there, place


def delete(world: World, kind: Kind, name: str) -> None:
    if kind == POOLS:  # its address is unused now
        world.delete(CLAIM, "a")
    world.delete(kind, name)


@each
@moves
async def test_another_project_is_reported_and_nothing_is_created_there(
    kind: Kind, name: str, start: Any, was: str, now: str, said: str
) -> None:
    world = await start()
    await recorded(world, was)
    before, calls = status(world, kind, name), len(world.clouds.calls)
    assert before["project"] == was
    there = lead_away(world, now)
    await world.run(600)
    text = f"spec.identityRef selects project {now}, but the resources of this object are in {said}"
    assert told(world, kind, name) == ("BlockedOtherProject", text)
    assert len(world.clouds.calls) == calls
    lead_back(world, there, was)
    await world.run(120)
    assert told(world, kind, name)[0] == "Ready"
    assert {**status(world, kind, name), "conditions": []} == {**before, "conditions": []}
    assert len(world.clouds.calls) == calls


@each
@moves
async def test_a_deletion_waits_until_the_resources_are_visible(
    kind: Kind, name: str, start: Any, was: str, now: str, said: str
) -> None:
    world = await start()
    await recorded(world, was)
    ours = {key for key, thing in world.clouds.things.items() if thing.mark}
    there = lead_away(world, now)
    delete(world, kind, name)
    await world.run(600)
    reason, message = told(world, kind, name)
    assert reason == "BlockedOtherProject"
    assert f"are in {said}" in message
    assert "keeps the resources in the cloud" in message
    assert status(world, kind, name)["project"] == was
    lead_back(world, there, was)
    await world.run(300)
    assert there_is(world, kind, name) is None
    assert not ours & world.clouds.things.keys()


@each
async def test_a_region_that_is_added_is_recorded_if_the_resources_are_there(kind: Kind, name: str, start: Any) -> None:
    world = await start()
    before, calls = status(world, kind, name), len(world.clouds.calls)
    await recorded(world, "project@R1")
    assert told(world, kind, name)[0] == "Ready"
    now = status(world, kind, name)
    assert {**now, "conditions": []} == {**before, "conditions": [], "project": "project@R1"}
    assert len(world.clouds.calls) == calls


@each
async def test_a_deletion_ends_after_a_region_was_added(kind: Kind, name: str, start: Any) -> None:
    """Its last look finds none of the recorded resources, as in another region."""
    world = await start()
    ours = {key for key, thing in world.clouds.things.items() if thing.mark}
    world.clouds.place = "project@R1"
    delete(world, kind, name)
    await world.run(300)
    assert there_is(world, kind, name) is None
    assert not ours & world.clouds.things.keys()


@each
async def test_a_policy_can_leave_the_resources_in_the_former_project(kind: Kind, name: str, start: Any) -> None:
    world = await start()
    calls = len(world.clouds.calls)
    lead_away(world)
    delete(world, kind, name)
    await world.run(60)
    way_out = {"reclaimPolicy": "Retain"} if kind == POOLS else {"credentialsLostPolicy": "Detach"}
    obj = there_is(world, kind, name)
    assert obj is not None
    world.cluster.put(kind, {**obj, "spec": {**obj["spec"], **way_out}})
    await world.run(60)
    assert there_is(world, kind, name) is None
    assert len(world.clouds.calls) == calls
    assert any(reason == "LeftBehind" for _, reason, _, _ in world.cluster.events)


@pytest.mark.parametrize(("kind", "name", "start"), EACH[:2], ids=["server", "cluster"])
async def test_credentials_that_are_corrected_at_once_leave_nothing_behind(kind: Kind, name: str, start: Any) -> None:
    """One look at a Secret with the wrong credentials, or one wrong response of Keystone, ends nothing."""
    world = await start()
    ours = {key for key, thing in world.clouds.things.items() if thing.mark}
    obj = there_is(world, kind, name) or {}
    world.cluster.put(kind, {**obj, "spec": {**obj["spec"], "credentialsLostPolicy": "Detach"}})
    await world.run(60)
    there = lead_away(world)
    delete(world, kind, name)
    await world.run(3)
    assert told(world, kind, name)[0] == "BlockedOtherProject"
    lead_back(world, there, "project")
    await world.run(300)
    assert there_is(world, kind, name) is None
    assert not ours & world.clouds.things.keys()
    assert not any(reason == "LeftBehind" for _, reason, _, _ in world.cluster.events)


async def test_the_project_may_change_before_the_first_creation() -> None:
    world = await made()
    server = there_is(world, SERVERS, "web") or {}
    lead_away(world)
    before = {"metadata": {"name": "new", "namespace": NAMESPACE}, "status": {"project": "project"}}
    world.cluster.put(SERVERS, {**server, **before})
    await world.run(120)
    assert status(world, SERVERS, "new")["project"] == "other"
