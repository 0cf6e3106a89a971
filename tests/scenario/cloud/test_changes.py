"""Changes of a running cloud: services are added and removed, features, sizes, names, and its deletion."""

import pytest

from stackwright.api.kinds import CONFIGMAP, DEPLOYMENT, POD, SECRET, STATEFULSET
from stackwright.api.services.contracts import DatabaseAccount, MessagingAccount
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import RESOURCES
from stackwright.core.errors import TerminalError
from stackwright.core.objects import secret_data
from stackwright.services.keystone.kind import Keystone
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.memcached.kind import Memcached
from stackwright.services.rabbitmq.kind import RabbitMQ
from tests.scenario.world import NAMESPACE, UNREADY, World, cloud_object, ready_world

pytestmark = pytest.mark.looptime
ONLY_MEMCACHED = {"services": ["~identity", "~database", "~messaging"]}
AUDIT = {"logging": {"cadf": {"enabled": True}}}


async def test_a_cloud_of_memcached_only_has_nothing_else():
    world = await ready_world(features=ONLY_MEMCACHED)
    assert world.osdpl["status"]["progress"] == "1/1"
    assert world.names(HelmBundle.KIND) == ["openstack-memcached"]
    assert [resource.KIND.kind for resource in RESOURCES if world.names(resource.KIND)] == [
        "OpenStackDeployment", "HelmBundle", "Memcached"
    ]  # fmt: skip
    assert not world.accounts.database.users and not world.accounts.messaging.users


async def test_removed_services_are_deleted_completely_and_the_cloud_stays_ready():
    world = await ready_world()
    world.cloud(features=ONLY_MEMCACHED)
    await world.settle()
    only = await ready_world(features=ONLY_MEMCACHED)
    assert world.ready()
    assert world.state()["objects"].keys() == only.state()["objects"].keys()
    assert world.osdpl["status"]["services"].keys() == {"memcached"}
    assert {c["type"] for c in world.osdpl["status"]["conditions"]} == {
        "Ready", "Reconciling", "Stalled", "Memcached", "Images", "Nodes"
    }  # fmt: skip


async def test_a_service_can_be_added_again():
    world = await ready_world()
    world.cloud(features={"services": ["~identity"]})
    await world.settle()
    assert not world.names(Keystone.KIND) and not world.accounts.database.users
    world.cloud()
    await world.settle()
    assert world.ready()
    assert (
        world.accounts.database.users[("mariadb.openstack.svc", "keystone")]
        == secret_data(world.get(SECRET, "keystone-database"))["password"]
    )


async def test_audit_events_request_a_messaging_account_that_is_deleted_without_them():
    world = await ready_world(features=AUDIT)
    assert world.names(MessagingAccount.KIND) == ["keystone"]
    assert world.accounts.messaging.users.keys() == {("rabbitmq.openstack.svc", "keystone")}
    values = world.bundle("keystone")["spec"]["releases"][0]["values"]
    assert values["secrets"]["oslo_messaging"] == {"keystone": "keystone-messaging"}
    assert values["conf"]["keystone"]["oslo_messaging_notifications"] == {"driver": "messagingv2"}
    world.cloud()
    await world.settle()
    assert world.ready()
    assert not world.names(MessagingAccount.KIND)
    assert not world.accounts.messaging.users and not world.accounts.messaging.vhosts
    assert world.get(SECRET, "keystone-messaging") is None
    values = world.bundle("keystone")["spec"]["releases"][0]["values"]
    assert values["conf"]["keystone"]["oslo_messaging_notifications"] == {"driver": "noop"}


async def test_a_change_of_one_service_upgrades_its_releases_only():
    world = await ready_world()
    calls = len(world.helm.calls)
    world.cloud(services={"identity": {"keystone": {"values": {"conf": {"keystone": {"DEFAULT": {"debug": True}}}}}}})
    await world.settle()
    assert world.ready()
    assert world.helm.calls[calls:] == [("upgrade", (NAMESPACE, "openstack-keystone"))]


async def test_foreign_edits_of_an_owned_object_are_reverted():
    world = await ready_world()
    bundle = world.bundle("memcached")
    bundle["spec"]["releases"][0]["values"]["pod"]["replicas"]["server"] = 5
    world.cluster.put(HelmBundle.KIND, bundle)
    await world.settle()
    assert world.bundle("memcached")["spec"]["releases"][0]["values"]["pod"]["replicas"]["server"] == 1
    assert world.get(STATEFULSET, "memcached")["spec"]["replicas"] == 1
    assert world.ready()


async def test_an_owned_object_deleted_by_others_is_recreated():
    world = await ready_world()
    world.delete(Memcached.KIND, "memcached")
    await world.settle()
    assert world.ready()
    assert world.names(STATEFULSET) == ["mariadb-server", "memcached", "rabbitmq-server"]


async def test_the_secret_of_a_contract_is_recreated_and_the_account_gets_its_password():
    world = await ready_world()
    before = secret_data(world.get(SECRET, "keystone-database"))["password"]
    world.delete(SECRET, "keystone-database")
    await world.settle()
    after = secret_data(world.get(SECRET, "keystone-database"))["password"]
    assert after != before
    assert world.accounts.database.users == {("mariadb.openstack.svc", "keystone"): after}
    assert world.ready()


async def test_a_draft_is_not_changed_until_the_flag_is_removed():
    world = World()
    world.cloud(draft=True)
    await world.settle()
    assert world.condition()[:2] == ("False", "Draft")
    assert not world.names(MariaDB.KIND)
    world.cloud()
    await world.settle()
    assert world.ready()


async def test_a_meaningless_spec_that_the_schema_allows_is_blocked_with_all_errors():
    world = World()
    world.cloud(
        services={"identity": {"nosuch": {"values": {}}}},
        common={"charts": {"releases": {"other": {"values": {"a": 1}}}}},
    )
    await world.settle()
    status, reason, message = world.condition()
    assert (status, reason) == ("False", "BlockedInvalidSpec")
    assert "spec.services.identity.nosuch: unknown chart; allowed: keystone, keystoneclient" in message
    assert "spec.common.charts.releases.other: unknown chart" in message
    assert not world.names(MariaDB.KIND)
    world.cloud()
    await world.settle()
    assert world.ready()


async def test_a_running_cloud_keeps_running_when_its_spec_becomes_nonsense():
    world = await ready_world()
    calls = len(world.helm.calls)
    world.cloud(services={"identity": {"nosuch": {"values": {}}}})
    await world.settle()
    assert world.condition()[1] == "BlockedInvalidSpec"
    assert len(world.helm.calls) == calls
    assert len(world.names(HelmBundle.KIND)) == 4


async def test_an_unsupported_field_is_refused_by_the_api_server():
    world = World()
    with pytest.raises(TerminalError, match="not supported"):
        world.cloud(features={"telemetry": {}})


async def test_the_second_cloud_of_a_namespace_is_blocked_with_any_name():
    world = await ready_world()
    before = world.state()["objects"]
    for name in ("aaa", "zzz"):
        world.cluster.put(OpenStackDeployment.KIND, cloud_object(name, size="tiny"))
    await world.settle()
    for name in ("aaa", "zzz"):
        blocked = world.get(OpenStackDeployment.KIND, name)
        assert world.condition("Ready", blocked)[1] == "BlockedAnotherCloud"
        assert "cloud" in world.condition("Ready", blocked)[2]
    assert world.ready()
    after = world.state()["objects"]
    assert {name: obj for name, obj in after.items() if name in before} == before


async def test_the_second_cloud_takes_over_when_the_first_is_deleted():
    world = World()
    world.cloud(draft=True)
    await world.settle()
    world.cluster.put(OpenStackDeployment.KIND, cloud_object("later", features=ONLY_MEMCACHED))
    await world.settle()
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert world.ready(world.get(OpenStackDeployment.KIND, "later"))


async def test_a_deleted_cloud_leaves_none_of_its_objects_and_all_others():
    world = World()
    world.secret("mine", password="x")
    world.cluster.put(CONFIGMAP, {"metadata": {"name": "mine", "namespace": NAMESPACE}, "data": {"a": "b"}})
    labels = {"application": "mine", "component": "web"}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}}
    meta = {"name": "mine", "namespace": NAMESPACE, "labels": {**labels, "app.kubernetes.io/instance": "mine"}}
    world.cluster.put(DEPLOYMENT, {"metadata": meta, "spec": spec})
    await world.run(10)
    before = world.state()
    world.cloud(features=AUDIT)
    await world.settle()
    assert world.ready()
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    after = world.state()
    assert after["objects"] == before["objects"]
    assert world.get(CONFIGMAP, "mine")
    assert not world.helm.records((NAMESPACE, "openstack-keystone"))


@pytest.mark.parametrize("seconds", [0.2, 0.6, 1.1, 2.0, 3.5, 4.1, 5.0, 6.0])
async def test_a_half_installed_cloud_can_be_deleted(seconds):
    world = World(latency=0.1)
    world.cloud(features=AUDIT)
    await world.run(seconds)
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    left = [name for name in world.state()["objects"] if not name.startswith("Node/")]
    assert left == []


async def test_a_cloud_with_a_never_ready_database_can_be_deleted():
    world = World()
    world.kubelet.broken["mariadb"] = UNREADY
    world.cloud()
    await world.settle()
    assert world.names(DatabaseAccount.KIND) == ["keystone"]
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert world.state()["objects"] == {}
    assert world.cluster.all(POD) == []


async def test_a_service_object_can_be_used_without_a_cloud():
    world = World()
    world.cluster.put(RabbitMQ.KIND, {"metadata": {"name": "rabbitmq", "namespace": NAMESPACE}, "spec": {}})
    await world.settle()
    assert world.ready(world.get(RabbitMQ.KIND, "rabbitmq"))
