"""Heat in a cloud: what it requests from Keystone, and what outlives its removal."""

from __future__ import annotations

import copy

import pytest

from stackwright.api.kinds import SECRET
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.conditions import find
from stackwright.core.objects import DIGEST, secret_data
from stackwright.services.heat.kind import Heat
from stackwright.services.heat.values import KEY_SECRET
from stackwright.services.mariadb.kind import MariaDB
from tests.scenario.world import NAMESPACE, World, ready_world

HEAT = {"services": ["orchestration"]}
MARK = f"stackwright.dev/data-key.{KEY_SECRET}"
ADMINISTRATOR = ("heat", "heat_domain_admin")


def key(world: World) -> str:
    return secret_data(world.get(SECRET, KEY_SECRET)).get("key", "")


async def test_the_key_of_stacks_and_the_domain_of_their_users_outlive_the_service() -> None:
    world = await ready_world(features=HEAT)
    assert world.ready()
    identity = world.accounts.identity
    own = secret_data(world.get(SECRET, "heat-keystone"))
    assert identity.trustees == {ADMINISTRATOR: own["trustee_password"]}
    assert identity.users["heat"] == own["password"] != own["trustee_password"]
    assert identity.roles == {"heat_stack_owner", "heat_stack_user"}
    assert {"heat", "heat-cfn"} <= identity.catalog.keys()
    before = key(world)
    assert len(before) == 32

    world.cloud()
    await world.settle()
    assert world.ready()
    assert identity.trustees == {} and identity.domains == {"heat"}
    assert not {"heat", "heat-cfn"} & (identity.catalog.keys() | identity.users.keys())
    assert key(world) == before

    world.cloud(features=HEAT)
    await world.settle()
    assert world.ready()
    assert key(world) == before
    assert identity.trustees.keys() == {ADMINISTRATOR}


@pytest.mark.looptime
async def test_the_administrator_of_the_domain_gets_a_password_of_its_own_and_a_new_one() -> None:
    """An earlier version gave it that of the service; a deleted Secret is the rotation of all passwords."""
    world = await ready_world(features=HEAT)
    secret = world.get(SECRET, "heat-keystone")
    del secret["data"]["trustee_password"]
    secret["metadata"]["annotations"][DIGEST] = "of an earlier version"
    world.cluster.put(SECRET, secret)
    world.accounts.identity.trustees[ADMINISTRATOR] = secret_data(secret)["password"]
    await world.run(60)
    first = secret_data(world.get(SECRET, "heat-keystone"))
    assert first["password"] == secret_data(secret)["password"], "the service keeps its own"
    assert world.accounts.identity.trustees == {ADMINISTRATOR: first["trustee_password"]}
    assert first["trustee_password"] in first["trustee.conf"]
    world.delete(SECRET, "heat-keystone")
    await world.run(60)
    second = secret_data(world.get(SECRET, "heat-keystone"))
    assert world.accounts.identity.trustees == {ADMINISTRATOR: second["trustee_password"]}
    assert second["trustee_password"] != first["trustee_password"]
    assert world.ready()


@pytest.mark.looptime
async def test_a_lost_key_is_reported_and_not_replaced() -> None:
    world = await ready_world(features=HEAT)
    secret = world.get(SECRET, KEY_SECRET)
    world.delete(SECRET, KEY_SECRET)
    await world.run(60)
    assert key(world) == ""
    ready = find(world.get(Heat.KIND, "heat"))
    assert ready and ready["reason"] == "BlockedKeyLost" and KEY_SECRET in ready["message"]
    world.cluster.put(SECRET, {**secret, "metadata": {"name": KEY_SECRET, "namespace": NAMESPACE}})
    await world.run(60)
    assert world.ready() and key(world) == secret_data(secret)["key"]


@pytest.mark.looptime
async def test_a_key_that_is_lost_while_heat_is_removed_is_reported_when_it_returns() -> None:
    """Its database is kept; the annotation of MariaDB, which lives as long, says that it needs the key."""
    world = await ready_world(features=HEAT)
    world.cloud()
    await world.settle()
    world.delete(SECRET, KEY_SECRET)
    world.cloud(features=HEAT)
    await world.run(200)
    assert key(world) == ""
    ready = find(world.get(Heat.KIND, "heat"))
    assert ready and ready["reason"] == "BlockedKeyLost" and KEY_SECRET in ready["message"]
    await world.cluster.patch(MariaDB.KIND, (NAMESPACE, "mariadb"), {"metadata": {"annotations": {MARK: None}}})
    await world.run(200)
    assert world.ready() and len(key(world)) == 32, "the user has confirmed that the data are given up"


@pytest.mark.looptime
async def test_a_key_without_content_is_lost_too() -> None:
    world = await ready_world(features=HEAT)
    before = copy.deepcopy(world.get(SECRET, KEY_SECRET))
    assert before
    await world.cluster.patch(SECRET, (NAMESPACE, KEY_SECRET), {"data": {"key": None}})
    await world.run(60)
    ready = find(world.get(Heat.KIND, "heat"))
    assert ready and ready["reason"] == "BlockedKeyLost"
    await world.cluster.patch(SECRET, (NAMESPACE, KEY_SECRET), {"data": before["data"]})
    await world.run(60)
    assert world.ready()


@pytest.mark.looptime
async def test_a_new_database_needs_no_earlier_key() -> None:
    world = await ready_world(features=HEAT)
    world.delete(MariaDB.KIND, "mariadb")
    await world.run(200)
    assert world.ready() and len(key(world)) == 32


async def test_nothing_remains_of_a_deleted_cloud() -> None:
    world = await ready_world(features=HEAT)
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert key(world) == ""
