"""The specs of a cloud are stored, and a rollback to an earlier spec restores the cloud."""

import json

import pytest

from stackwright.api.kinds import SECRET
from stackwright.cli.state.revisions import choose, kept, spec_of
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.revision.decide import KEPT_REVISIONS
from stackwright.core.objects import secret_data
from stackwright.core.secrets.revisions import FIELD
from stackwright.runtime.cluster.specs import replace_spec
from tests.scenario.world import NAMESPACE, ready_world

pytestmark = pytest.mark.looptime
DEBUG = {"identity": {"keystone": {"values": {"conf": {"keystone": {"DEFAULT": {"debug": True}}}}}}}


async def test_each_spec_is_kept_once():
    world = await ready_world()
    world.cloud(services=DEBUG)
    await world.settle()
    found = await kept(world.cluster, world.osdpl)
    assert [each.number for each in found] == [1, 2]
    specs = [await spec_of(world.cluster, each) for each in found]
    assert "services" not in specs[0] and specs[1]["services"] == DEBUG
    world = world.again()
    await world.settle()
    assert [each.number for each in await kept(world.cluster, world.osdpl)] == [1, 2]
    assert world.writes == 0


async def test_a_rollback_restores_a_spec_and_is_a_revision_itself():
    world = await ready_world()
    before = world.bundle("keystone")["spec"]
    world.cloud(services=DEBUG, openstack_version="epoxy")
    await world.settle()
    assert world.bundle("keystone")["spec"] != before
    chosen = choose(await kept(world.cluster, world.osdpl), None, world.osdpl)
    assert chosen.number == 1
    spec = await spec_of(world.cluster, chosen)
    wanted = {"metadata": {"namespace": NAMESPACE, "name": "cloud"}, "spec": spec}
    await replace_spec(world.cluster, OpenStackDeployment.KIND, wanted, "kubectl")
    assert world.osdpl["spec"] == spec
    await world.settle()
    assert world.ready()
    assert world.bundle("keystone")["spec"] == before
    assert [each.number for each in await kept(world.cluster, world.osdpl)] == [1, 2, 3]


async def test_the_oldest_revisions_are_deleted():
    world = await ready_world()
    for number in range(KEPT_REVISIONS + 2):
        world.cloud(services={"identity": {"keystone": {"values": {"conf": {"keystone": {"DEFAULT": {"a": number}}}}}}})
        await world.settle()
    found = await kept(world.cluster, world.osdpl)
    assert [each.number for each in found] == list(range(4, KEPT_REVISIONS + 4))


async def test_revisions_are_deleted_with_their_cloud_and_the_next_starts_at_one():
    world = await ready_world()
    world.cloud(services=DEBUG)
    await world.settle()
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert not [name for name in world.names(SECRET) if name.startswith("openstackdeployment.")]
    world.cloud()
    await world.settle()
    found = await kept(world.cluster, world.osdpl)
    assert [each.number for each in found] == [1]
    data = secret_data(world.get(SECRET, found[0].key[1]))
    assert json.loads(data[FIELD]) == world.osdpl["spec"]
