"""`stackwright pause` and `resume`: a paused cloud is not changed, and its pending changes are reported."""

import asyncio

import pytest

from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import BY_KIND, RESOURCES
from stackwright.controllers import cloud
from stackwright.core.conditions import find
from stackwright.core.objects import owner_reference
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.plan import Delete, Plan
from stackwright.core.settings import Settings
from stackwright.forecast.simulate import Request, simulate
from stackwright.runtime.cycle.pausing import EVERY, held, stackwright_cause
from tests.scenario.world import NAMESPACE, World, cloud_object, ready_world

pytestmark = pytest.mark.looptime
DEBUG = {"identity": {"keystone": {"values": {"conf": {"keystone": {"DEFAULT": {"debug": True}}}}}}}


async def annotate(world: World, kind: str, name: str, text: str | None) -> None:
    await world.cluster.patch(
        BY_KIND[kind].KIND, (NAMESPACE, name), {"metadata": {"annotations": {STACKWRIGHT.annotation: text}}}
    )
    await world.settle()


async def test_a_paused_cloud_is_unchanged_and_applies_the_change_when_resumed():
    world = await ready_world()
    await annotate(world, "OpenStackDeployment", "cloud", "true")
    assert world.ready()  # ready objects stay ready without a wait
    assert find(world.osdpl, "Paused")["status"] == "True"
    calls, before = len(world.helm.calls), world.state()["objects"].keys()
    world.cloud(services=DEBUG, features={"services": ["~coordination"]})
    await world.settle()
    assert len(world.helm.calls) == calls
    assert world.state()["objects"].keys() == before
    reason, message = world.condition()[1:]
    assert reason == "Paused"
    assert f"{STACKWRIGHT.annotation} of OpenStackDeployment cloud" in message and "stackwright resume" in message
    await annotate(world, "OpenStackDeployment", "cloud", None)
    assert world.ready()
    assert world.helm.calls[calls:] == [("upgrade", (NAMESPACE, "openstack-keystone"))]
    assert find(world.osdpl, "Paused")["status"] == "False"


async def test_a_pause_of_a_cloud_pauses_its_services_and_their_releases():
    world = await ready_world()
    await annotate(world, "OpenStackDeployment", "cloud", "true")
    calls = len(world.helm.calls)
    bundle = world.get(HelmBundle.KIND, "openstack-keystone")
    release = {**bundle["spec"]["releases"][0]}
    release["values"] = {**release["values"], "pod": {"replicas": {"api": 3}}}
    await world.cluster.patch(HelmBundle.KIND, (NAMESPACE, "openstack-keystone"), {"spec": {"releases": [release]}})
    await world.settle()
    assert len(world.helm.calls) == calls
    assert find(world.get(HelmBundle.KIND, "openstack-keystone"))["reason"] == "Paused"


async def test_a_pause_of_one_service_pauses_that_service_only():
    world = await ready_world()
    await annotate(world, "Keystone", "keystone", "true")
    calls = len(world.helm.calls)
    world.cloud(services={**DEBUG, "memcached": {"memcached": {"values": {"conf": {"memory": 99}}}}})
    await world.settle()
    assert {name for _, (_, name) in world.helm.calls[calls:]} == {"openstack-memcached"}
    assert world.condition()[1] == "Paused"
    await annotate(world, "Keystone", "keystone", "false")
    assert world.ready()
    assert ("upgrade", (NAMESPACE, "openstack-keystone")) in world.helm.calls[calls:]


async def test_a_paused_cloud_can_be_deleted():
    world = await ready_world()
    await annotate(world, "OpenStackDeployment", "cloud", "true")
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert world.osdpl is None
    assert not [name for resource in RESOURCES for name in world.names(resource.KIND)]


async def test_a_plan_of_a_paused_cloud_has_no_changes_and_reports_why():
    world = await ready_world()
    await annotate(world, "OpenStackDeployment", "cloud", "true")
    asked = (OpenStackDeployment.KIND, cloud_object(services=DEBUG))
    forecast = await simulate(world.cluster, Settings(), Request(NAMESPACE, apply=(asked,)), world.clock.now())
    assert [step.about for step in forecast.steps if step.action is not None] == ["you"]
    assert "Paused" in str(forecast.stuck)


async def test_objects_that_own_each_other_block_nothing():
    world = await ready_world()
    bundles = [world.get(HelmBundle.KIND, name) for name in ("openstack-keystone", "openstack-memcached")]
    for one, other in (bundles, reversed(bundles)):
        owner = {**owner_reference({**other, "kind": "HelmBundle", "apiVersion": HelmBundle.KIND.api_version})}
        await world.cluster.patch(
            HelmBundle.KIND, (NAMESPACE, one["metadata"]["name"]), {"metadata": {"ownerReferences": [owner]}}
        )
    assert await asyncio.wait_for(stackwright_cause(world.cluster, bundles[0]), 5) == ""
    await world.settle()


async def test_a_new_owner_of_the_same_name_pauses_no_object_of_the_old_one():
    world = await ready_world()
    await annotate(world, "OpenStackDeployment", "cloud", "true")
    bundle = world.get(HelmBundle.KIND, "openstack-keystone")
    other = [{**each, "uid": "another"} for each in bundle["metadata"]["ownerReferences"]]
    stale = {**bundle, "metadata": {**bundle["metadata"], "ownerReferences": other}}
    assert await stackwright_cause(world.cluster, bundle)
    assert await stackwright_cause(world.cluster, stale) == ""


async def test_a_paused_object_is_reconciled_again():
    """If the operator has several containers, not all of them observe the resume."""
    world = await ready_world()
    plan = held(
        cloud.controller(Settings(images={}, charts={})),
        Plan((Delete(HelmBundle.KIND, (NAMESPACE, "x")),)),
        world.osdpl,
        "a test",
    )
    assert plan.requeue == EVERY and not plan.actions


async def test_a_release_deleted_in_a_paused_cloud_is_uninstalled():
    """Otherwise its finalizer would block it, and the namespace, until a user resumes the cloud."""
    world = await ready_world()
    await annotate(world, "OpenStackDeployment", "cloud", "true")
    calls = len(world.helm.calls)
    world.delete(HelmBundle.KIND, "openstack-keystone")
    await world.settle()
    gone = {("uninstall", (NAMESPACE, name)) for name in ("openstack-keystone", "openstack-keystoneclient")}
    assert set(world.helm.calls[calls:]) == gone
    assert "openstack-keystone" not in world.names(HelmBundle.KIND), "nor is it made again before a resume"
