"""Providers of which only some pods are ready, such as two of three MariaDB servers: accounts still work."""

from __future__ import annotations

import pytest

from stackwright.api.kinds import DEPLOYMENT, POD, STATEFULSET
from stackwright.api.meta import Kind
from stackwright.api.services.contracts import DatabaseAccount, KeystoneService
from stackwright.core.plan import Object
from stackwright.services.keystone.kind import Keystone
from stackwright.services.mariadb.kind import MariaDB
from tests.scenario.world import NAMESPACE, UNREADY, World, ready_world

pytestmark = pytest.mark.looptime
THREE = {"size": "tiny"}  # of MariaDB
SERVERS, APIS = "mariadb-server", "keystone-api"


def away(world: World, kind: Kind, name: str, *indexes: int) -> None:
    """Make these pods unready, as after the loss of their nodes, and the others ready."""
    obj = world.get(kind, name)
    assert obj is not None
    count = obj["spec"]["replicas"]
    assert max(indexes, default=0) < count
    for index in range(count):
        pod = world.get(POD, f"{name}-{index}")
        assert pod is not None
        status = (
            UNREADY if index in indexes else {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        )
        world.cluster.put(POD, {**pod, "status": status})
    world.cluster.put(kind, {**obj, "status": {**obj["status"], "readyReplicas": count - len(indexes)}})


def own_account(world: World, name: str = "mine") -> None:
    spec = {"database": name, "username": name, "secretName": name}
    made = DatabaseAccount.model_validate({"metadata": {"name": name}, "spec": spec}).model_dump(by_alias=True)
    world.cluster.put(DatabaseAccount.KIND, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": made["spec"]})


def users(world: World) -> set[str]:
    return {user for _, user in world.accounts.database.users}


def changed(world: World, name: str, **spec: object) -> None:
    obj = world.get(DatabaseAccount.KIND, name)
    assert obj is not None
    world.cluster.put(DatabaseAccount.KIND, {**obj, "spec": {**obj["spec"], **spec}})


def ready(world: World, kind: Kind, name: str) -> bool:
    return world.ready(the(world, kind, name))


def the(world: World, kind: Kind, name: str) -> Object:
    obj = world.get(kind, name)
    assert obj is not None
    return obj


@pytest.mark.parametrize("index", [0, 2])  # the primary, and another server
async def test_accounts_are_created_changed_and_removed_while_two_of_three_servers_serve(index: int) -> None:
    world = await ready_world(**THREE)
    away(world, STATEFULSET, SERVERS, index)
    await world.run(60)
    assert not ready(world, MariaDB.KIND, "mariadb")
    assert world.condition("Serving", the(world, MariaDB.KIND, "mariadb"))[:2] == ("True", "Serving")
    own_account(world)
    await world.run(60)
    assert ready(world, DatabaseAccount.KIND, "mine") and "mine" in users(world)
    calls = len(world.accounts.database.calls)
    changed(world, "mine", grants=["SELECT"])
    await world.run(60)
    assert ready(world, DatabaseAccount.KIND, "mine") and len(world.accounts.database.calls) == calls + 1
    await world.cluster.delete(DatabaseAccount.KIND, (NAMESPACE, "mine"))
    await world.run(60)
    assert world.get(DatabaseAccount.KIND, "mine") is None and "mine" not in users(world)
    await world.stop()


async def test_a_service_is_added_while_two_of_three_servers_serve() -> None:
    world = await ready_world(**THREE)
    away(world, STATEFULSET, SERVERS, 2)
    await world.run(60)
    world.cloud(**THREE, features={"services": ["placement"]})
    await world.run(300)
    assert ready(world, DatabaseAccount.KIND, "placement") and ready(world, KeystoneService.KIND, "placement")
    assert world.bundle("placement")
    await world.stop()


async def test_a_lost_account_is_recreated_while_two_of_three_servers_serve() -> None:
    world = await ready_world(**THREE)
    away(world, STATEFULSET, SERVERS, 2)
    await world.run(60)
    before = users(world)
    world.accounts.database.users.clear()
    await world.run(600)
    assert before and users(world) == before
    await world.stop()


async def test_service_users_are_created_while_one_api_of_keystone_serves() -> None:
    world = await ready_world(size="small")
    away(world, DEPLOYMENT, APIS, 0)
    await world.run(60)
    assert not ready(world, Keystone.KIND, "keystone")
    world.cloud(size="small", features={"services": ["placement"]})
    await world.run(300)
    assert ready(world, KeystoneService.KIND, "placement")
    away(world, DEPLOYMENT, APIS)
    await world.run(60)
    assert ready(world, Keystone.KIND, "keystone")
    await world.stop()


async def test_accounts_wait_for_a_serving_provider_and_losses_are_found_at_once() -> None:
    world = await ready_world(**THREE)
    before = users(world)
    away(world, STATEFULSET, SERVERS, 0, 1, 2)
    await world.run(60)
    status, reason, message = world.condition("Serving", the(world, MariaDB.KIND, "mariadb"))
    assert (status, reason) == ("False", "NotServing") and "mariadb-server-0" in message
    own_account(world)
    await world.run(60)
    assert world.condition(obj=world.get(DatabaseAccount.KIND, "mine")) == (
        "False",
        "Waiting",
        f"Waiting for MariaDB openstack/mariadb: {message}",
    )
    world.accounts.database.users.clear()
    away(world, STATEFULSET, SERVERS, 1, 2)
    await world.run(15)
    assert users(world) == {*before, "mine"}, "sooner than on any schedule"
    await world.stop()


async def test_the_end_of_a_partial_outage_causes_no_endless_writes_or_requests() -> None:
    world = await ready_world(**THREE)
    away(world, STATEFULSET, SERVERS, 2)
    await world.run(600)
    writes = len(world.cluster.writes)
    await world.run(3600)
    assert len(world.cluster.writes) == writes
    away(world, STATEFULSET, SERVERS)
    await world.settle()
    assert world.ready()
    await world.stop()
