"""Kubernetes' etcd is restored from a snapshot under a running operator: object versions restart at a lower number."""

from __future__ import annotations

import pytest

from stackwright.api.services.contracts import DatabaseAccount
from stackwright.services.placement.kind import Placement
from tests.scenario.world import World, built_world, ready_world

pytestmark = pytest.mark.looptime
LATER = {"size": "tiny", "features": {"services": ["placement"]}}


async def restored() -> World:
    """A cloud that was changed after the snapshot; the operator has not noticed the restore."""
    world = await ready_world()
    objects, version = dict(world.cluster._objects), world.cluster._version
    world.cloud(**LATER)
    await world.settle()
    assert world.ready() and world.get(Placement.KIND, "placement")
    world.cluster._objects, world.cluster._version = objects, version
    world.kubelet._seen.clear()
    return world


async def test_the_operator_follows_the_restored_state() -> None:
    world = await restored()
    await world.run(700)  # until the next list
    reference, _ = await built_world()
    assert world.bundle("mariadb")["spec"] == reference.bundle("mariadb")["spec"]
    assert world.ready() and world.get(Placement.KIND, "placement") is None
    for kind, spaces in world._runtime.store._objects.items():  # type: ignore[union-attr]
        for space in spaces.values():
            for key, obj in space.items():
                live = world.cluster.peek(kind, key)
                assert live and live["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"], (kind, key)
    await world.stop()


@pytest.mark.parametrize("listed", [True, False])
async def test_changes_after_the_restoration_are_followed(listed: bool) -> None:
    """Includes objects whose names were known before the restore, at versions that occur again only now."""
    world = await restored()
    if listed:
        await world.run(700)
    world.cloud(**LATER)
    await world.run(1500)
    assert world.ready(), world.condition()
    assert world.get(Placement.KIND, "placement") and world.bundle("placement")
    assert world.ready(world.get(DatabaseAccount.KIND, "placement"))
    await world.stop()
