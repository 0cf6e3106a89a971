"""Lists of a cloud without existing resources: until a second list confirms it, none is reported lost or recreated."""

from __future__ import annotations

import pytest

from stackwright.core.openstack.resource_types import deletion_order
from tests.scenario.capi_world import CLUSTERS, MACHINES, SERVERS
from tests.scenario.controllers.test_capicluster_faults import empty, leave, manned

pytestmark = pytest.mark.looptime
ORDER = tuple(deletion_order())
KINDS: list[tuple[str, ...]] = [*((what,) for what in ORDER), ORDER]
EACH = pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0] if len(kinds) == 1 else "all")


@pytest.mark.parametrize("policy", ["Never", "Always"])
@EACH
async def test_an_incomplete_list_recreates_nothing(kinds: tuple[str, ...], policy: str) -> None:
    world = await manned(recreatePolicy=policy)
    there, before = world.there(), len(world.clouds.calls)
    world.clouds.hidden = set(kinds)
    await world.run(400)
    assert [str(call) for call in world.clouds.calls[before:]] == []
    told = [world.told(kind=kind, name=name) for kind in (CLUSTERS, SERVERS, MACHINES) for name in world.names(kind)]
    assert not [reason for reason, _ in told if "ResourceNotFound" in reason], told
    world.clouds.hidden = set()
    await world.run(120)
    assert world.there() == there
    assert not world.clouds.made_twice
    await world.ready()
    await world.ready(MACHINES, "m")


@EACH
async def test_an_incomplete_list_orphans_nothing(kinds: tuple[str, ...]) -> None:
    world = await manned()
    leave(world)
    world.clouds.hidden = set(kinds)
    await world.run(300)
    assert world.names(CLUSTERS), "its finalizer stays"
    world.clouds.hidden = set()
    await world.run(120)
    await empty(world)
