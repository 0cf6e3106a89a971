"""Changes around the cloud: nodes, pods, the primary of the database, keys that expire, Secrets of users."""

import asyncio
import itertools

import pytest

from stackwright.api.kinds import DEPLOYMENT, NODE, POD, SECRET, STATEFULSET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TransientError
from stackwright.core.objects import FINALIZER, secret_data
from stackwright.services.keystone.kind import Keystone
from stackwright.services.keystone.values import CREDENTIAL_KEYS, FERNET_KEYS, MAX_ACTIVE_KEYS, TOKEN_EXPIRATION
from tests.scenario.world import CONTROL_PLANE, NAMESPACE, UNREADY, World, cloud_object, ready_world

pytestmark = pytest.mark.looptime
DAY = 24 * 3600.0
# Keystone accepts a token for its lifetime and two more days (allow_expired_window).
WINDOW = TOKEN_EXPIRATION + 2 * DAY


async def test_without_a_labelled_node_the_cloud_is_blocked_and_names_the_command():
    world = World(nodes=0)
    world.node("node-1", {})
    world.cloud()
    await world.settle()
    status, reason, message = world.condition()
    assert (status, reason) == ("False", "BlockedNoNode")
    assert "kubectl label node NODE openstack-control-plane=enabled" in message
    assert not world.helm.calls
    world.node("node-1", CONTROL_PLANE)
    await world.settle()
    assert world.ready()


async def test_a_lost_node_is_named_and_a_found_one_is_not():
    world = await ready_world()
    world.node("node-1", CONTROL_PLANE, ready=False)
    await world.settle()
    assert world.condition("Nodes") == (
        "False", "NodeLost", "Node node-1 is not ready: Kubelet stopped posting node status."
    )  # fmt: skip
    assert world.condition() == world.condition("Nodes")
    world.node("node-1", CONTROL_PLANE)
    await world.settle()
    assert world.ready()


async def test_a_node_that_is_no_part_of_the_cloud_may_be_lost():
    world = await ready_world()
    world.node("other", {}, ready=False)
    await world.settle()
    assert world.ready()
    assert not world.cluster.events


async def test_a_node_that_is_deleted_while_it_was_lost_is_forgotten():
    world = await ready_world()
    world.node("node-2", CONTROL_PLANE, ready=False)
    await world.settle()
    assert not world.ready()
    world.cluster.remove(NODE, ("", "node-2"))
    await world.settle()
    assert world.ready()


async def test_the_health_follows_a_pod_within_two_seconds():
    world = await ready_world()
    world.kubelet.broken["keystone-api"] = UNREADY
    world.kubelet.sync(DEPLOYMENT, "keystone-api")
    await world.run(2)
    status = world.osdpl["status"]
    assert status["health"]["keystone"]["api"]["status"] == "Unhealthy"
    assert "its readiness probe fails" in status["health"]["keystone"]["api"]["message"]
    assert status["healthSummary"] == "5/6"
    assert not world.ready()
    world.kubelet.broken.clear()
    world.kubelet.sync(DEPLOYMENT, "keystone-api")
    await world.run(2)
    assert world.osdpl["status"]["healthSummary"] == "6/6"
    assert world.ready()


def roles(world):
    pods = world.cluster.all(POD, NAMESPACE, {"application": "mariadb"})
    return {pod["metadata"]["name"]: pod["metadata"]["labels"].get("mariadb-role") for pod in pods}


async def test_one_pod_of_the_database_is_primary_while_it_serves():
    world = await ready_world(size="tiny")
    first = {"mariadb-server-0": "primary", "mariadb-server-1": "backup", "mariadb-server-2": "backup"}
    assert roles(world) == first
    pod = world.get(POD, "mariadb-server-0")
    world.cluster.put(POD, {**pod, "status": UNREADY})
    await world.run(2)
    second = {"mariadb-server-0": "backup", "mariadb-server-1": "primary", "mariadb-server-2": "backup"}
    assert roles(world) == second
    world.cluster.put(POD, {**world.get(POD, "mariadb-server-0"), "status": pod["status"]})
    await world.run(2)
    assert roles(world) == second, "the primary does not move back"
    world.cluster.remove(POD, (NAMESPACE, "mariadb-server-1"))
    await world.run(2)
    assert roles(world) == {"mariadb-server-0": "primary", "mariadb-server-2": "backup"}


async def test_at_no_time_two_pods_of_the_database_are_primary():
    world = await ready_world(size="tiny")
    seen = []
    world.cluster.subscribe(lambda event, kind, obj: seen.append([*roles(world).values()].count("primary")))
    for name in ("mariadb-server-0", "mariadb-server-1", "mariadb-server-2"):
        pod = world.get(POD, name)
        world.cluster.put(POD, {**pod, "status": UNREADY})
        await world.run(2)
        world.cluster.put(POD, {**world.get(POD, name), "status": pod["status"]})
        await world.run(2)
    assert max(seen) == 1
    assert [*roles(world).values()].count("primary") == 1


async def test_another_pod_becomes_primary_at_once_while_helm_occupies_all_workers(monkeypatch):
    world = await ready_world(size="tiny")
    held = []

    async def upgrade(action):
        held.append(action.release)
        await asyncio.sleep(300)

    monkeypatch.setattr(world.helm, "upgrade", upgrade)
    for index in range(12):
        name = f"other-{index}"
        release = {"name": name, "chart": "memcached", "values": {}}
        meta = {"name": name, "namespace": NAMESPACE}
        world.cluster.put(HelmBundle.KIND, {"metadata": meta, "spec": {"releases": [release]}})
    await world.run(5)
    waiting = len(held)
    assert world.workers < waiting < 12, "every worker that waits for helm in this namespace, and no ordinary one"
    pod = world.get(POD, "mariadb-server-0")
    world.cluster.put(POD, {**pod, "status": UNREADY})
    await world.run(1)
    assert roles(world)["mariadb-server-1"] == "primary"
    assert len(held) == waiting


async def test_keys_rotate_for_days_and_no_token_outlives_its_key():
    world = await ready_world()
    history = []

    def note(event, kind, obj):
        if kind == SECRET and obj["metadata"]["name"] == FERNET_KEYS:
            history.append((world.clock.now(), secret_data(obj)))

    note("ADDED", SECRET, world.get(SECRET, FERNET_KEYS))
    world.cluster.subscribe(note)
    writes = world.writes
    await world.run(5 * DAY)
    assert 9 <= len(history) - 1 <= 10, "twice a day"
    assert world.writes - writes == len(history) - 1, "nothing else is written"
    for (_, before), (turned, after) in itertools.pairwise(history):
        primary = before[max(before, key=int)]
        assert after[max(after, key=int)] == before["0"], "what was staged is primary now"
        assert len(after) <= MAX_ACTIVE_KEYS
        # The last token of this primary was issued at the time of the rotation.
        alive = [keys for when, keys in history if turned <= when < turned + WINDOW - 5]
        assert all(primary in keys.values() for keys in alive)


async def test_a_key_rotation_missed_without_an_operator_is_done_once_later():
    world = await ready_world()
    before = secret_data(world.get(SECRET, FERNET_KEYS))
    await world.stop()
    away = world.again(world.clock.now() + 40 * DAY)
    await away.settle()
    after = secret_data(away.get(SECRET, FERNET_KEYS))
    assert max(map(int, after)) == max(map(int, before)) + 1
    assert max(map(int, secret_data(away.get(SECRET, CREDENTIAL_KEYS)))) == 2
    assert away.ready()


def with_secret_option():
    reference = {"value_from": {"secret_key_ref": {"name": "ldap", "key": "password"}}}
    values = {"conf": {"keystone": {"ldap": {"password": reference, "user": "cn=admin"}}}}
    return {"identity": {"keystone": {"values": values}}}


async def test_a_secret_that_an_option_names_is_waited_for_by_name_and_then_carried_by_secret_only():
    world = await ready_world()
    world.cloud(services=with_secret_option())
    await world.run(20)
    status, reason, message = world.condition()
    assert (status, reason) == ("False", "BlockedMissingSecret")
    assert "key password of Secret openstack/ldap" in message and "spec.services" in message
    assert not world.helm.calls
    world.secret("ldap", password="s3cret-of-ldap")
    await world.settle()
    assert world.ready()
    assert secret_data(world.get(SECRET, "keystone-overrides")) == {
        "overrides.conf": "[ldap]\npassword = s3cret-of-ldap\n"
    }
    values = world.bundle("keystone")["spec"]["releases"][0]["values"]
    assert values["conf"]["keystone"]["ldap"] == {"user": "cn=admin"}
    assert values["secrets"]["conf"]["keystone"]["name"] == "keystone-overrides"
    assert "s3cret" not in str(world.bundle("keystone"))


async def test_a_changed_secret_of_a_user_reaches_the_service_and_restarts_it():
    world = await ready_world()
    world.secret("ldap", password="one")
    world.cloud(services=with_secret_option())
    await world.settle()
    calls = len(world.helm.calls)
    world.secret("ldap", password="two")
    await world.run(120)
    assert secret_data(world.get(SECRET, "keystone-overrides"))["overrides.conf"] == "[ldap]\npassword = two\n"
    assert world.helm.calls[calls:] == [("upgrade", (NAMESPACE, "openstack-keystone"))]


async def test_a_secret_of_several_lines_is_rejected_by_key_until_it_has_one_line():
    world = await ready_world()
    world.secret("ldap", password="one\n[DEFAULT]\ntransport_url = evil")
    world.cloud(services=with_secret_option())
    await world.run(60)
    status, reason, message = world.condition()
    assert (status, reason) == ("False", "BlockedRefused")
    assert "key password of Secret openstack/ldap: must be one line" in message
    assert (
        "evil" not in str(world.cluster.all(OpenStackDeployment.KIND))
        and world.get(SECRET, "keystone-overrides") is None
    )
    world.secret("ldap", password="one\n")
    await world.run(400)
    assert world.ready()
    assert secret_data(world.get(SECRET, "keystone-overrides"))["overrides.conf"] == "[ldap]\npassword = one\n"


async def test_an_override_with_a_line_break_in_an_option_is_reported_by_path():
    world = await ready_world()
    values = {"conf": {"keystone": {"ldap": {"user": "one\n[DEFAULT]\ntransport_url = evil"}}}}
    world.cloud(services={"identity": {"keystone": {"values": values}}})
    await world.run(30)
    status, reason, message = world.condition()
    assert (status, reason) == ("False", "BlockedInvalidValues")
    assert "spec.services, chart keystone: conf.keystone.ldap.user: must be one line" in message
    assert not world.helm.calls


async def test_an_unresponsive_database_is_awaited_and_named():
    world = World()
    fail = world.accounts.database.fail
    fail["mariadb.openstack.svc"] = TransientError("MariaDB at mariadb.openstack.svc is electing a primary")
    world.cloud()
    await world.run(60)
    assert "MariaDB at mariadb.openstack.svc is electing a primary" in world.condition("Keystone")[2]
    del fail["mariadb.openstack.svc"]
    await world.settle(patience=90)
    assert world.ready()


async def test_an_account_without_its_secret_can_still_be_deleted():
    world = await ready_world()
    await world.stop()
    world.delete(SECRET, "keystone-database")
    world.cloud(features={"services": ["~identity"]})
    await world.settle()
    assert world.ready()
    assert not world.accounts.database.users


async def test_finalizers_of_others_are_never_lost():
    world = World()
    world.cloud()
    theirs = "example.org/backup"
    added = []

    def guard(event, kind, obj):
        """Another client that adds its finalizer to each new HelmBundle."""
        if obj["kind"] == "HelmBundle" and event == "ADDED":
            added.append(obj["metadata"]["name"])
            live = world.get(kind, obj["metadata"]["name"])
            live["metadata"]["finalizers"] = [theirs, *live["metadata"].get("finalizers", [])]
            world.cluster.put(kind, live)

    world.cluster.subscribe(guard)
    await world.settle()
    assert len(added) == 4
    for name in added:
        obj = world.bundle(name.removeprefix("openstack-"))
        assert sorted(obj["metadata"]["finalizers"]) == [theirs, FINALIZER]
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert {tuple(world.bundle(n.removeprefix("openstack-"))["metadata"]["finalizers"]) for n in added} == {(theirs,)}


async def test_two_clouds_in_two_namespaces_are_independent():
    world = await ready_world()
    before = world.state()["objects"]
    world.cluster.put(OpenStackDeployment.KIND, cloud_object(namespace="second"))
    await world.settle()
    assert world.ready(world.cluster.peek(OpenStackDeployment.KIND, ("second", "cloud")))
    assert world.accounts.database.users.keys() == {(f"mariadb.{ns}.svc", "keystone") for ns in (NAMESPACE, "second")}
    world.cluster.remove(OpenStackDeployment.KIND, ("second", "cloud"))
    await world.settle()
    assert world.state()["objects"] == before


async def test_a_foreign_change_of_a_statefulset_causes_no_write_of_the_operator():
    world = await ready_world()
    writes = world.writes
    live = world.get(STATEFULSET, "memcached")
    live["metadata"]["annotations"] = {"example.org/note": "x"}
    world.cluster.put(STATEFULSET, live)
    await world.settle()
    assert world.writes == writes
    assert world.names(Keystone.KIND) == ["keystone"]
