"""The plans of typical situations, as readable text: tests/golden/plans."""

import asyncio

import pytest

from stackwright.api.kinds import POD, SECRET, STATEFULSET
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.catalog import controllers
from stackwright.core.ages import Ages
from stackwright.core.plan import Plan
from stackwright.forecast.simulate import LONG_AGO
from tests.scenario.world import NAMESPACE, SETTINGS, START, UNREADY, World, ready_world

pytestmark = pytest.mark.looptime
MEMCACHED = {"services": ["~identity", "~database", "~messaging"]}


def looking():
    """Controllers in their first observation, as in `plan`: existing objects are treated as old."""
    return controllers(SETTINGS, ages=Ages(lambda: 0.0, at_first=LONG_AGO))


def text_of(who: str, plan: Plan) -> str:
    """A plan as text: actions with their reasons, messages, and the next reconcile."""
    lines = [f"{who}"]
    lines += [f"  {action}" + (f"  ({why})" if (why := getattr(action, "why", "")) else "") for action in plan.actions]
    for condition in plan.conditions:
        state = {True: "yes", False: "no", None: "unknown"}[condition.status]
        lines.append(
            f"  {condition.type}: {state}, {condition.reason}".rstrip()
            + (f": {condition.message}" if condition.message else "")
        )
    if plan.requeue is not None:
        lines.append(f"  look again in {plan.requeue:.0f} s")
    return "\n".join(lines) + "\n"


async def text(world: World, *, only_actions: bool = False) -> str:
    """The plans of all controllers for the current state of all objects; nothing is executed."""
    await world.stop()
    found = []
    for controller in looking():
        for obj in world.cluster.all(controller.kind):
            key = (obj["metadata"]["namespace"], obj["metadata"]["name"])
            seen = await controller.observe(world.cluster, key, world.clock.now())
            plan = controller.decide(seen)
            if plan.actions or (plan.conditions and not only_actions):
                found.append(text_of(f"{controller.name} {'/'.join(key)}", plan))
    return "\n".join(found)


async def fresh():
    world = World()
    world.cloud()
    return world


async def services_asked_for():
    """The cloud controller has run; all others follow."""
    world = await fresh()
    world.kubelet.start = 1e6
    (cloud,) = [controller for controller in looking() if controller.name == "cloud"]
    for action in cloud.decide(await cloud.observe(world.cluster, (NAMESPACE, "cloud"), START)).actions:
        await world.cluster.apply(action.kind, action.obj, "stackwright-cloud")
    return world


async def nothing_changed():
    return await ready_world()


async def larger():
    world = await ready_world()
    world.cloud(size="tiny")
    return world


async def service_removed():
    world = await ready_world()
    world.cloud(features={"services": ["~memcached"]})
    return world


async def invalid():
    world = await ready_world()
    world.cloud(services={"identity": {"nova": {}}}, nodes={"rack": {}})
    return world


async def secret_lost():
    world = await ready_world()
    await world.stop()
    world.delete(SECRET, "keystone-database")
    return world


async def keys_are_due():
    world = await ready_world()
    await world.stop()
    return world.again(world.clock.now() + 13 * 3600)


async def not_ready_in_time():
    world = await ready_world(features=MEMCACHED)
    world.kubelet.broken["memcached"] = UNREADY
    world.cloud(features=MEMCACHED, size="tiny")
    await world.run(30)
    await world.stop()
    await asyncio.sleep(600)
    return world


async def helm_was_killed():
    world = await ready_world(features=MEMCACHED)
    await world.stop()
    world.helm.record((NAMESPACE, "openstack-memcached"), 2, "pending-upgrade", "x")
    return world


async def pod_fails():
    world = await ready_world(features=MEMCACHED)
    await world.stop()
    world.kubelet.broken["memcached"] = UNREADY
    world.kubelet.sync(STATEFULSET, "memcached")
    return world


async def primary_lost():
    world = await ready_world(size="tiny")
    await world.stop()
    world.cluster.put(POD, {**world.get(POD, "mariadb-server-0"), "status": UNREADY})
    return world


async def node_lost():
    world = await ready_world(features=MEMCACHED)
    await world.stop()
    world.node("node-1", {"openstack-control-plane": "enabled"}, ready=False)
    return world


async def cloud_deleted():
    world = await ready_world(features={"logging": {"cadf": {"enabled": True}}})
    await world.stop()
    world.delete(OpenStackDeployment.KIND, "cloud")
    return world


SITUATIONS = (
    fresh, services_asked_for, nothing_changed, larger, service_removed, invalid, secret_lost, keys_are_due,
    not_ready_in_time, helm_was_killed, pod_fails, primary_lost, node_lost, cloud_deleted,
)  # fmt: skip


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.__name__)
async def test_the_plans_of_a_situation_are_as_they_were_reviewed(situation, golden):
    world = await situation()
    only_actions = situation in (larger, service_removed, secret_lost, keys_are_due, primary_lost)
    golden(f"plans/{situation.__name__.replace('_', '-')}.txt", await text(world, only_actions=only_actions))


async def test_when_nothing_changed_no_plan_has_an_action():
    assert await text(await ready_world(), only_actions=True) == ""
