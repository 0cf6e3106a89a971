"""A cloud from nothing to Ready, and the number of reconciles and writes of an unchanged one."""

from collections import Counter

import pytest

from stackwright.api.kinds import POD, SECRET
from stackwright.api.services.contracts import DatabaseAccount, MessagingAccount
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.api.services.voters import VOTERS
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.objects import secret_data
from stackwright.services.keystone.kind import Keystone
from stackwright.services.keystone.values import SIZES as KEYSTONE
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.memcached.kind import Memcached
from stackwright.services.rabbitmq.kind import RabbitMQ
from stackwright.services.registry import SERVICES
from tests.scenario.world import (
    NAMESPACE,
    SETTINGS,
    UNSCHEDULABLE,
    WORKLOADS,
    World,
    assert_only_accounts_are_looked_at,
    ready_world,
)

pytestmark = pytest.mark.looptime


async def test_a_new_cloud_becomes_ready_at_every_level():
    world = World()
    world.cloud()
    await world.settle()
    status = world.osdpl["status"]
    assert world.condition() == ("True", "Ready", "")
    assert world.condition("Reconciling") == world.condition("Stalled") == ("False", "Ready", "")
    assert (status["progress"], status["healthSummary"], status["version"]) == ("4/4", "6/6", "epoxy")
    assert {name: child["ready"] for name, child in status["children"].items()} == {
        f"openstack-{name}": True for name in ("keystone", "mariadb", "memcached", "rabbitmq")
    }
    applied = {"state": "APPLIED", "openstack_version": "epoxy", "message": ""}
    assert status["services"] == dict.fromkeys(("database", "messaging", "memcached", "identity"), applied)
    for resource in (MariaDB, RabbitMQ, Memcached, Keystone):
        (service,) = world.cluster.all(resource.KIND)
        assert (service["status"]["state"], service["status"]["release"]) == ("APPLIED", "epoxy")


async def test_a_fresh_cloud_costs_no_more_reconciles_and_writes_than_it_has_to():
    world = World()
    world.cloud()
    await world.settle()
    # Ceilings, not figures: a change that makes the operator write more must be noticed. Each HelmBundle names its
    # releases in its status before Helm runs.
    assert len(world.reconciles) <= 285
    assert world.writes <= 150
    assert len(world.helm.calls) == 5
    assert len(world.accounts.database.calls) == 1


async def test_the_release_of_keystone_waits_for_its_database_and_the_others_wait_for_nothing():
    world = World()
    world.kubelet.broken["mariadb"] = UNSCHEDULABLE
    world.cloud()
    await world.settle()
    installed = {name for verb, (_, name) in world.helm.calls}
    assert installed == {"openstack-mariadb", "openstack-rabbitmq", "openstack-memcached"}
    cause = "Pod mariadb-server-0 cannot be scheduled: 0/1 nodes are available: too few cpu"
    assert cause in world.condition("Keystone")[2]
    assert "Waiting for DatabaseAccount openstack/keystone" in world.condition("Keystone")[2]
    assert cause in world.condition("MariaDB")[2]
    assert cause in world.condition()[2]


async def test_when_nothing_changes_nothing_is_written_even_after_a_resync_and_a_restart():
    world = await ready_world()
    before, reconciles = world.writes, len(world.reconciles)
    await world.run(3600)
    assert world.writes == before
    assert_only_accounts_are_looked_at(world.reconciles[reconciles:])
    await world.stop()
    await world.settle()
    assert len(world.reconciles) > reconciles
    assert world.writes == before


async def test_a_late_watch_does_not_change_the_result():
    prompt, late = World(), World(latency=0.7)
    for world in (prompt, late):
        world.cloud()
        await world.settle()
        assert world.ready()
    assert late.state() == prompt.state()


async def test_a_late_watch_causes_no_repeated_reconciles_of_a_release():
    """Even a very short remaining delay must elapse."""
    world = World(latency=0.05)
    world.cloud()
    await world.settle()
    looks = Counter(item for item in world.reconciles if item[0] == "helmbundle")
    assert max(looks.values()) < 20


async def test_work_in_progress_of_a_killed_operator_is_completed_by_the_next():
    world = World()
    world.cloud()
    await world.run(2.0)
    await world.stop()
    assert not world.ready()
    await world.settle()
    assert world.ready()


async def test_the_account_in_the_database_has_the_password_in_keystones_secret():
    world = await ready_world()
    data = secret_data(world.get(SECRET, "keystone-database"))
    assert world.accounts.database.users == {("mariadb.openstack.svc", "keystone"): data["password"]}
    assert data["database.conf"] == (
        f"[database]\nconnection = mysql+pymysql://keystone:{data['password']}"
        "@mariadb.openstack.svc:3306/keystone?charset=utf8\n"
    )


async def test_no_password_is_in_any_object_but_secrets():
    world = await ready_world(features={"logging": {"cadf": {"enabled": True}}})
    passwords = [d["password"] for obj in world.cluster.all(SECRET) if "password" in (d := secret_data(obj))]
    assert len(passwords) == 5
    elsewhere = [
        *world.cluster.all(OpenStackDeployment.KIND), *world.cluster.all(HelmBundle.KIND), *world.cluster.events,
        *world.cluster.all(DatabaseAccount.KIND), *world.cluster.all(MessagingAccount.KIND), *world.cluster.all(POD),
    ]  # fmt: skip
    assert not [password for password in passwords if password in str(elsewhere)]


@pytest.mark.parametrize("size", VOTERS)
async def test_a_cloud_of_each_size_becomes_ready_with_the_pods_of_that_size(size):
    world = World()
    world.cloud(size=size)
    await world.settle()
    assert world.ready()
    pods = [pod["metadata"]["name"] for pod in world.cluster.all(POD)]
    assert sum(name.startswith("mariadb-server") for name in pods) == VOTERS[size]
    assert sum(name.startswith("keystone-api") for name in pods) == KEYSTONE[size].pods


async def test_events_report_only_transitions_of_ready():
    world = World()
    world.cloud()
    await world.settle()
    about_cloud = [(reason, warning) for key, reason, _, warning in world.cluster.events if key == (NAMESPACE, "cloud")]
    assert about_cloud == [("Ready", False)]


def test_the_settings_of_the_world_know_every_chart_and_its_workloads():
    charts = {chart.name for declared in SERVICES for chart in declared.charts}
    assert charts <= set(SETTINGS.charts) == set(WORKLOADS)
