"""A broken optional service stops and delays no other one, in a new cloud and in a ready one, and can be removed."""

from __future__ import annotations

import pytest

from stackwright.services.declaration import Service
from stackwright.services.registry import BY_SERVICE
from tests.scenario.world import KINDS, NAMESPACE, UNREADY, WORKLOADS, World, ready_world

pytestmark = pytest.mark.looptime
STORAGE = ("image", "ceph", "block-storage", "object-storage")
# The cloud of each service that no other service of that cloud uses.
CLOUDS = {
    "dashboard": ("dashboard",),
    "orchestration": ("orchestration", "dashboard"),
    "dns": ("dns", "dashboard"),
    "object-storage": STORAGE,
    "block-storage": STORAGE,
}
LIMIT = 600  # seconds


def cloud(name: str) -> dict[str, list[str]]:
    return {"services": [*CLOUDS[name]]}


def broken(world: World, declared: Service) -> None:
    """No pod of the service becomes ready from now on."""
    for chart in declared.charts:
        world.kubelet.broken |= {workload: UNREADY for _, workload, _ in WORKLOADS[chart.name]}


def states(world: World) -> dict[str, bool]:
    """Service → whether it is ready."""
    services = (world.osdpl or {}).get("status", {}).get("services", {})
    return {name: state["state"] == "APPLIED" for name, state in services.items()}


async def ready_at(world: World, without: str) -> float:
    """Seconds until all services but one are ready."""
    began = world.clock.now()
    for _ in range(LIMIT):
        await world.run(1)
        found = states(world)
        if without in found and all(ready for name, ready in found.items() if name != without):
            return world.clock.now() - began
    raise AssertionError(f"not ready: {[name for name, ready in states(world).items() if not ready]}")


@pytest.mark.parametrize("name", CLOUDS)
async def test_a_service_that_never_becomes_ready_delays_no_other_of_a_new_cloud(name: str) -> None:
    times = []
    for is_broken in (False, True):
        world = World()
        if is_broken:
            broken(world, BY_SERVICE[name])
        world.cloud(features=cloud(name))
        times.append(await ready_at(world, without=name))
        await world.run(LIMIT)
        assert states(world) == dict.fromkeys(states(world), True) | {name: not is_broken}
    assert times[1] <= times[0] + 2
    _, _, cause = world.condition()
    chart = BY_SERVICE[name].charts[0]
    assert cause.startswith(f"{BY_SERVICE[name].kind.kind}: Release {chart.release(chart.name)} is not ready"), cause


@pytest.mark.parametrize("name", CLOUDS)
async def test_a_service_that_fails_later_stops_no_change_of_the_others_and_can_be_removed(name: str) -> None:
    world = await ready_world(features=cloud(name))
    broken(world, BY_SERVICE[name])
    for chart in BY_SERVICE[name].charts:
        for kind, workload, _ in WORKLOADS[chart.name]:
            world.kubelet.sync(KINDS[kind], workload)
    await world.run(60)
    assert states(world) == dict.fromkeys(states(world), True) | {name: False}

    world.helm.calls.clear()
    world.cloud(features=cloud(name), region_name="Elsewhere")
    await world.run(LIMIT)
    assert states(world) == dict.fromkeys(states(world), True) | {name: False}
    assert ("upgrade", (NAMESPACE, "openstack-keystone")) in world.helm.calls

    left = [each for each in cloud(name)["services"] if each != name]
    world.cloud(features={"services": left}, region_name="Elsewhere")
    await world.run(LIMIT)
    assert world.ready(), world.condition()
