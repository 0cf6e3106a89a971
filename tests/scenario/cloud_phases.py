"""The objects of a cloud in each phase of its life, as clients of the API read them."""

from __future__ import annotations

import copy

from stackwright.api.meta import Kind
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import RESOURCES
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.plan import Object
from tests.scenario.world import NAME, NAMESPACE, World

CLOUD = OpenStackDeployment.KIND
KINDS = {resource.KIND for resource in RESOURCES}


async def phases() -> dict[str, list[Object]]:
    """Phase → objects of our kinds.

    `new`, `ready`, `changed`, `blocked` and `paused` are moments; `installing` and `deleting` contain all versions of
    all objects in that time.
    """
    world, seen = World(), list[Object]()

    def note(event: str, kind: Kind, obj: Object) -> None:
        if kind in KINDS and event != "DELETED":
            seen.append(copy.deepcopy(obj))

    async def during() -> list[Object]:
        await world.settle()
        versions = [*seen]
        seen.clear()
        return versions

    world.cluster.subscribe(note)
    found = {}
    world.cloud()
    found["new"] = _objects(world)
    found["installing"] = await during()
    found["ready"] = _objects(world)
    world.cloud(region_name="Elsewhere")
    found["changed"] = [obj for obj in _objects(world) if obj["kind"] == CLOUD.kind]
    world.cloud(services={"identity": {"keystone": {"values": {"conf": "a text"}}}})
    await world.settle()
    found["blocked"] = _objects(world)
    world.cloud()
    await world.settle()
    await world.cluster.patch(CLOUD, (NAMESPACE, NAME), {"metadata": {"annotations": {STACKWRIGHT.annotation: "true"}}})
    world.cloud(region_name="Elsewhere")
    await world.settle()
    found["paused"] = _objects(world)
    await world.cluster.patch(CLOUD, (NAMESPACE, NAME), {"metadata": {"annotations": {STACKWRIGHT.annotation: None}}})
    await during()
    world.delete(CLOUD, NAME)
    found["deleting"] = [obj for obj in await during() if obj["metadata"].get("deletionTimestamp")]
    await world.stop()
    return found


def _objects(world: World) -> list[Object]:
    return [obj for resource in RESOURCES for obj in world.cluster.all(resource.KIND)]
