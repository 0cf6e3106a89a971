"""Barbican in a cloud: what it requests from Keystone, and keys that outlive its removal."""

from __future__ import annotations

import pytest

from stackwright.api.kinds import SECRET
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.conditions import find
from stackwright.core.objects import secret_data
from stackwright.services.barbican.kind import Barbican
from stackwright.services.barbican.values import KEK, ROLES
from tests.scenario.world import NAMESPACE, World, ready_world

BARBICAN = {"services": ["key-manager"]}


def keys(world: World) -> dict[str, str]:
    return secret_data(world.get(SECRET, KEK))


async def test_the_keys_of_secrets_outlive_the_service() -> None:
    world = await ready_world(features=BARBICAN)
    assert world.ready()
    assert world.accounts.identity.roles == set(ROLES)
    assert "barbican" in world.accounts.identity.catalog
    before = keys(world)
    assert before.keys() == {"0", "1"}

    world.cloud()
    await world.settle()
    assert world.ready()
    assert "barbican" not in world.accounts.identity.catalog.keys() | world.accounts.identity.users.keys()
    assert keys(world) == before

    world.cloud(features=BARBICAN)
    await world.settle()
    assert world.ready()
    assert keys(world) == before


@pytest.mark.looptime
async def test_lost_keys_are_reported_and_not_replaced() -> None:
    world = await ready_world(features=BARBICAN)
    secret = world.get(SECRET, KEK)
    world.delete(SECRET, KEK)
    await world.cluster.patch(Barbican.KIND, (NAMESPACE, "barbican"), {"metadata": {"annotations": {"look": "now"}}})
    await world.run(60)
    assert keys(world) == {}
    ready = find(world.get(Barbican.KIND, "barbican"))
    assert ready and ready["reason"] == "BlockedKeyLost" and KEK in ready["message"]
    world.cluster.put(SECRET, {**secret, "metadata": {"name": KEK, "namespace": NAMESPACE}})
    await world.run(60)
    assert world.ready()
    assert set(secret_data(secret).values()) <= set(keys(world).values()), "the restored keys, and a new one"


async def test_nothing_remains_of_a_deleted_cloud() -> None:
    world = await ready_world(features=BARBICAN)
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert keys(world) == {}
