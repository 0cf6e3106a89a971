"""Rollouts that take long, or have unavailable nodes: progress is awaited, a stop causes a rollback."""

import pytest

from stackwright.api.kinds import DAEMONSET, NODE, STATEFULSET
from stackwright.core.errors import UndeclaredStatus
from tests.scenario.releases.test_releases import MEMCACHED, RELEASE, with_memory
from tests.scenario.world import EVERY_ROLE, NAMESPACE, UNREADY, World, ready_world

pytestmark = pytest.mark.looptime
DEBUG = {"compute": {"nova": {"values": {"conf": {"nova": {"DEFAULT": {"debug": True}}}}}}}
NOVA = (NAMESPACE, "openstack-nova")


def calls(world, name="nova"):
    return [verb for verb, release in world.helm.calls if release == (NAMESPACE, f"openstack-{name}")]


def told(world, name="nova"):
    return world.condition("Ready", world.bundle(name))


async def whole_cloud(nodes):
    world = World(nodes=nodes)
    world.cloud(whole=True)
    await world.settle()
    assert world.ready(), world.condition()
    world.helm.calls.clear()
    return world


async def test_a_daemonset_with_progress_node_by_node_has_no_time_limit():
    world = await whole_cloud(nodes=12)
    world.kubelet.rolling["nova-compute"] = 60.0
    world.cloud(whole=True, services=DEBUG)
    await world.run(660)
    assert calls(world) == ["upgrade"] and told(world)[1] == "NotReady"
    await world.run(120)
    assert world.ready() and calls(world) == ["upgrade"]


async def test_a_rollout_without_progress_for_its_timeout_is_rolled_back():
    world = await whole_cloud(nodes=12)
    world.kubelet.rolling["nova-compute"] = 60.0
    world.cloud(whole=True, services=DEBUG)
    await world.run(300)
    world.kubelet.broken["nova-compute"] = UNREADY
    await world.run(530)
    assert calls(world) == ["upgrade"]
    await world.run(80)
    assert calls(world) == ["upgrade", "rollback"]
    assert "made no progress for 600 s" in told(world)[2]


async def test_flapping_pods_are_no_progress():
    world = await ready_world(features=MEMCACHED)
    world.kubelet.broken["memcached"] = UNREADY
    world.cloud(**with_memory(99))
    for _ in range(12):
        await world.run(50)
        world.kubelet.broken.clear()
        live = world.get(STATEFULSET, "memcached")
        status = {**live["status"], "readyReplicas": 1, "updateRevision": "2"}
        world.cluster.put(STATEFULSET, {**live, "status": status})
        await world.run(5)
        world.kubelet.broken["memcached"] = UNREADY
        world.kubelet.sync(STATEFULSET, "memcached")
    await world.run(100)
    assert world.helm.calls == [("upgrade", RELEASE), ("rollback", RELEASE)]


async def test_a_restarted_operator_knows_the_earlier_progress_and_counts_new_progress():
    world = await whole_cloud(nodes=5)
    world.kubelet.rolling["nova-compute"] = 15.0
    world.kubelet.broken["nova-compute"] = UNREADY
    world.cloud(whole=True, services=DEBUG)
    for _ in range(5):
        await world.run(100)
        await world.stop()
    assert calls(world) == ["upgrade"]
    world.kubelet.broken.clear()
    world.kubelet.sync(DAEMONSET, "nova-compute")  # the first node is updated, and the second one begins
    world.kubelet.broken["nova-compute"] = UNREADY
    for _ in range(5):
        await world.run(100)
        await world.stop()
    assert calls(world) == ["upgrade"]
    for _ in range(6):
        await world.run(100)
        await world.stop()
    assert calls(world) == ["upgrade", "rollback"]


async def test_the_status_of_a_ready_release_has_no_progress_and_is_not_rewritten():
    world = await whole_cloud(nodes=5)
    world.kubelet.rolling["nova-compute"] = 100.0
    world.cloud(whole=True, services=DEBUG)
    await world.run(95)
    status = world.bundle("nova")["status"]["releaseStatuses"]["openstack-nova"]
    assert status["waited"] == 60 and status["reached"]
    await world.run(600)
    status = world.bundle("nova")["status"]["releaseStatuses"]["openstack-nova"]
    assert world.ready() and status["waited"] == 0 and "reached" not in status
    writes = world.writes
    await world.stop()
    await world.run(60)
    assert world.writes == writes


def starting(restarts=0):
    """The status of a MariaDB server that receives its data: its startup probe has not succeeded yet."""
    container = {"name": "mariadb", "state": {"running": {}}, "started": False, "restartCount": restarts}
    return {**UNREADY, "containerStatuses": [container]}


async def upgrading_database(status):
    world = await ready_world()
    world.kubelet.broken["mariadb"] = status
    world.cloud(services={"database": {"mariadb": {"values": {"conf": {"database": {"config_override": "#"}}}}}})
    return world


async def test_a_server_that_receives_its_data_has_time_in_proportion_to_its_volume():
    world = await upgrading_database(starting())
    await world.run(1100)
    assert calls(world, "mariadb") == ["upgrade"] and told(world, "mariadb")[1] == "NotReady"
    world.kubelet.broken.clear()
    world.kubelet.sync(STATEFULSET, "mariadb-server")
    await world.settle()
    assert world.ready()


async def test_an_endless_transfer_is_rolled_back_in_the_end_and_a_crashed_one_as_usual():
    world = await upgrading_database(starting())
    await world.run(1300)
    assert calls(world, "mariadb") == ["upgrade", "rollback"]
    world = await upgrading_database(starting(restarts=1))
    await world.run(620)
    assert calls(world, "mariadb") == ["upgrade", "rollback"]


async def with_a_node_away(nodes=2, rolling=0.0):
    world = await whole_cloud(nodes)
    if rolling:
        world.kubelet.rolling["nova-compute"] = rolling
    world.node("node-2", EVERY_ROLE, ready=False)
    await world.settle()
    return world


async def test_an_absent_node_does_not_count_and_a_ready_release_names_it():
    world = await with_a_node_away()
    world.cloud(whole=True, services=DEBUG)
    await world.run(120)
    status, _, message = world.condition("OpenstackNova", world.bundle("nova"))
    assert status == "True" and message == "without node node-2, which is not ready"
    assert world.ready(world.bundle("nova")) and calls(world) == ["upgrade"]
    assert "node-2" in world.condition()[2], "the cloud is not Ready"
    writes = world.writes
    await world.run(1800)
    await world.stop()
    await world.run(1800)
    assert world.writes == writes
    world.node("node-2", EVERY_ROLE)
    await world.settle()
    assert world.ready() and calls(world) == ["upgrade"]
    assert world.condition("OpenstackNova", world.bundle("nova"))[2] == ""


async def test_a_rollout_that_waits_for_a_node_is_not_rolled_back_and_ends_when_the_node_returns():
    """Kubernetes replaces one pod at a time, and the unavailable pod is counted."""
    world = await with_a_node_away(rolling=15.0)
    world.cloud(whole=True, services=DEBUG)
    await world.run(1500)
    await world.stop()
    await world.run(60)
    writes = world.writes
    await world.run(1500)
    waits = "DaemonSet nova-compute: 1 of 2 pods ready; waits for node node-2, which is not ready"
    assert told(world) == ("False", "NotReady", waits)
    assert calls(world) == ["upgrade"] and world.writes == writes
    world.kubelet.start = 200.0  # it must start first
    world.node("node-2", EVERY_ROLE)
    await world.run(600)
    assert world.ready() and calls(world) == ["upgrade"]


async def test_a_failure_on_present_nodes_is_rolled_back_and_retried_when_the_absent_node_returns():
    world = await with_a_node_away(nodes=3)
    world.kubelet.broken["nova-compute"] = UNREADY
    world.cloud(whole=True, services=DEBUG)
    await world.run(620)
    assert calls(world) == ["upgrade", "rollback"]
    world.kubelet.broken.clear()
    world.kubelet.sync(DAEMONSET, "nova-compute")
    await world.run(3600)
    assert told(world)[1] == "BlockedRolledBack"
    assert told(world)[2].endswith("rolled back to revision 1; retried when node node-2 is ready")
    assert calls(world) == ["upgrade", "rollback"]
    await world.stop()
    world.node("node-2", EVERY_ROLE)
    await world.settle()
    assert world.ready() and calls(world) == ["upgrade", "rollback", "upgrade"]


async def test_it_is_retried_only_once():
    world = await with_a_node_away(nodes=3)
    world.kubelet.broken["nova-compute"] = UNREADY
    world.cloud(whole=True, services=DEBUG)
    await world.run(620)
    world.node("node-2", EVERY_ROLE)
    await world.run(3600)
    assert calls(world) == ["upgrade", "rollback", "upgrade", "rollback"]
    world.node("node-2", EVERY_ROLE, ready=False)
    await world.run(60)
    world.node("node-2", EVERY_ROLE)
    await world.run(3600)
    assert calls(world) == ["upgrade", "rollback", "upgrade", "rollback"]


async def test_it_is_retried_only_once_for_a_flapping_node():
    """Each rollback during an absence of the node must not cause another upgrade when the node returns."""
    world = await with_a_node_away(nodes=3)
    world.kubelet.broken["nova-compute"] = UNREADY
    world.cloud(whole=True, services=DEBUG)
    for _ in range(4):
        await world.run(620)
        world.node("node-2", EVERY_ROLE)
        await world.run(60)
        await world.stop()
        world.node("node-2", EVERY_ROLE, ready=False)
    await world.run(700)
    assert calls(world) == ["upgrade", "rollback", "upgrade", "rollback"]
    assert told(world)[1] == "BlockedRolledBack" and "tried again" not in told(world)[2]
    writes = world.writes
    await world.run(3600)
    assert world.writes == writes


async def test_a_release_that_became_ready_in_a_retry_is_as_any_other():
    world = await with_a_node_away(nodes=3)
    world.kubelet.broken["nova-compute"] = UNREADY
    world.cloud(whole=True, services=DEBUG)
    await world.run(620)
    world.kubelet.broken.clear()
    world.kubelet.sync(DAEMONSET, "nova-compute")
    world.node("node-2", EVERY_ROLE)
    await world.settle()
    assert world.ready() and calls(world) == ["upgrade", "rollback", "upgrade"]
    status = world.bundle("nova")["status"]["releaseStatuses"]["openstack-nova"]
    assert "retriedDigest" not in status and not status["failedDigest"]


async def test_a_deleted_node_blocks_nothing():
    world = await with_a_node_away(nodes=3, rolling=15.0)
    world.cloud(whole=True, services=DEBUG)
    await world.run(700)
    assert told(world)[1] == "NotReady"
    world.cluster.remove(NODE, ("", "node-2"))
    await world.run(60)
    assert world.ready() and "rollback" not in calls(world)


async def test_reading_nodes_costs_no_call():
    world = await with_a_node_away(rolling=15.0)
    await world.stop()
    await world.settle()
    reads = world.cluster.reads["list Node"]
    world.cloud(whole=True, services=DEBUG)
    await world.run(300)
    assert world.cluster.reads["list Node"] == reads


async def test_with_crds_of_an_earlier_version_a_bad_update_is_rolled_back_and_they_are_named():
    world = await whole_cloud(3)
    write = world.cluster.apply_status
    new = ("away", "reached", "retriedDigest", "rollbackCause", "rollbackRevision")

    async def apply_status(kind, obj, manager):
        releases = (obj["status"].get("releaseStatuses") or {}).items()
        paths = [f"releaseStatuses.{name}.{each}" for name, told in releases for each in new if each in told]
        if paths:
            raise UndeclaredStatus("fields not declared in schema", paths)
        return await write(kind, obj, manager)

    world.cluster.apply_status = apply_status
    world.kubelet.broken["nova-compute"] = UNREADY
    world.cloud(whole=True, services=DEBUG)
    await world.run(200)
    lack = (
        "The installed CRDs have another version than the operator and lack the fields reached: "
        "apply what `stackwright crds` prints"
    )
    assert world.condition("Ready", world.bundle("nova"))[2].endswith(lack)
    await world.run(1500)
    assert calls(world) == ["upgrade", "rollback"] and told(world)[1] == "BlockedRolledBack"
    writes = world.writes
    await world.run(1800)
    assert world.writes == writes
