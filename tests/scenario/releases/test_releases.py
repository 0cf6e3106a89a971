"""Faults of Helm releases: refused, never ready, interrupted, removed."""

import asyncio
import dataclasses

import pytest

from stackwright.api.kinds import STATEFULSET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.controllers.helmbundle.step import SETTLE
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.helm.records import releases
from stackwright.services.memcached.kind import Memcached
from tests.scenario.world import NAMESPACE, SETTINGS, UNREADY, UNSCHEDULABLE, World, ready_world

pytestmark = pytest.mark.looptime
MEMCACHED = {"services": ["~identity", "~database", "~messaging"]}
RELEASE = (NAMESPACE, "openstack-memcached")


def with_memory(amount: int) -> dict:
    values = {"conf": {"memcached": {"memory": amount}}}
    return {"features": MEMCACHED, "services": {"memcached": {"memcached": {"values": values}}}}


def record(world: World):
    return releases(world.helm.records(RELEASE))["openstack-memcached"]


async def test_a_chart_that_helm_refuses_is_blocked_with_helms_words_on_every_level():
    world = World()
    world.helm.fail["memcached"] = TerminalError("helm upgrade: memcached/templates/x.yaml:3: nil pointer")
    world.cloud(features=MEMCACHED)
    await world.run(120)
    for obj in (world.bundle("memcached"), world.osdpl):
        status, reason, message = world.condition("Ready", obj)
        assert (status, reason) == ("False", "BlockedRefused")
        assert "nil pointer" in message
    calls = len(world.helm.calls)
    await world.run(600)
    assert 5 <= len(world.helm.calls) - calls <= 15, "it is tried again about once a minute"
    del world.helm.fail["memcached"]
    await world.settle(patience=90)
    assert world.ready()


async def test_a_rejected_chart_does_not_block_other_releases():
    world = World()
    world.helm.fail["keystoneclient"] = TerminalError("helm upgrade: broken")
    world.cloud()
    await world.run(60)
    assert ("upgrade", (NAMESPACE, "openstack-keystone")) in world.helm.calls
    assert world.condition("RabbitMQ")[0] == "True"
    assert world.condition()[1] == "BlockedRefused"
    assert world.condition("Ready", world.bundle("keystone"))[2] == "helm upgrade: broken"


async def test_a_never_ready_first_install_remains_and_reports_why():
    world = World()
    world.kubelet.broken["memcached"] = UNSCHEDULABLE
    world.cloud(features=MEMCACHED)
    await world.run(30)
    assert world.condition("Ready", world.bundle("memcached"))[1] == "NotReady"
    await world.run(700)
    _, reason, message = world.condition("Ready", world.bundle("memcached"))
    assert reason == "BlockedNotReady"
    assert message == (
        "Release openstack-memcached is not ready and made no progress for 600 s: StatefulSet memcached: "
        "Pod memcached-0 cannot be scheduled: 0/1 nodes are available: too few cpu"
    )
    assert world.helm.calls == [("upgrade", RELEASE)]
    world.kubelet.broken.clear()
    world.kubelet.sync(STATEFULSET, "memcached")
    await world.settle()
    assert world.ready()


async def test_an_upgrade_that_is_not_ready_in_time_is_rolled_back_and_retried_only_after_a_change():
    world = await ready_world(features=MEMCACHED)
    before = record(world)
    world.kubelet.broken["memcached"] = UNREADY
    world.cloud(**with_memory(99))
    await world.run(590)
    assert world.helm.calls == [("upgrade", RELEASE)]
    await world.run(20)
    assert world.helm.calls == [("upgrade", RELEASE), ("rollback", RELEASE)]
    world.kubelet.broken.clear()
    world.kubelet.sync(STATEFULSET, "memcached")
    await world.settle()
    assert record(world).digest == before.digest
    status, reason, message = world.condition()
    assert (status, reason) == ("False", "BlockedRolledBack")
    assert "is not ready and made no progress for 600 s" in message and "rolled back to revision 1" in message
    writes = world.writes
    await world.stop()
    await world.run(3600)
    assert world.writes == writes, "neither time nor a restart tries it again"
    world.cloud(**with_memory(98))
    await world.settle()
    assert world.ready()
    assert world.helm.calls[2:] == [("upgrade", RELEASE)]


async def test_after_a_rollback_the_old_values_make_the_cloud_ready_again():
    world = await ready_world(features=MEMCACHED)
    world.kubelet.broken["memcached"] = UNREADY
    world.cloud(**with_memory(99))
    await world.run(620)
    world.kubelet.broken.clear()
    world.kubelet.sync(STATEFULSET, "memcached")
    world.cloud(features=MEMCACHED)
    await world.settle()
    assert world.ready()
    assert [verb for verb, _ in world.helm.calls] == ["upgrade", "rollback"]


REFUSED = "persistentvolumeclaims is forbidden: field can not be less than previous value"


def told(world: World) -> tuple[str, str, str]:
    return world.condition("Ready", world.bundle("memcached"))


async def failing_upgrade(world: World, amount: int = 99, seconds: float = 300) -> None:
    world.kubelet.broken["memcached"] = UNREADY
    world.cloud(**with_memory(amount))
    await world.run(seconds)


def healed(world: World) -> None:
    world.kubelet.broken.clear()
    world.kubelet.sync(STATEFULSET, "memcached")


async def test_a_rejected_rollback_is_reported_with_its_cause_and_the_bad_version_not_retried():
    world = await ready_world(features=MEMCACHED)
    before = record(world)
    await failing_upgrade(world)
    world.helm.refuse["memcached"] = REFUSED
    await world.run(320)
    both = [("upgrade", RELEASE), ("rollback", RELEASE)]
    assert world.helm.calls == both
    for obj in (world.bundle("memcached"), world.osdpl):
        status, reason, message = world.condition("Ready", obj)
        assert (status, reason) == ("False", "BlockedRollbackFailed")
        assert "is not ready and made no progress for 600 s" in message
        assert message.endswith(f"rolling back to revision 1 failed: {REFUSED}")
    assert (record(world).digest, record(world).state) == (before.digest, "failed")
    writes = world.writes
    await world.run(1800)
    await world.stop()
    await world.run(10_000)
    assert world.helm.calls == both, "neither time nor a restart tries it again"
    assert world.writes == writes
    world.helm.refuse.clear()
    healed(world)
    world.cloud(**with_memory(98))
    await world.settle()
    assert world.ready()
    assert world.helm.calls[2:] == [("upgrade", RELEASE)]


async def test_after_a_rollback_that_was_refused_the_old_values_make_the_cloud_ready_again():
    world = await ready_world(features=MEMCACHED)
    await failing_upgrade(world)
    world.helm.refuse["memcached"] = REFUSED
    await world.run(320)
    world.helm.refuse.clear()
    healed(world)
    world.cloud(features=MEMCACHED)
    await world.settle(patience=90)
    assert world.ready()
    assert [verb for verb, _ in world.helm.calls] == ["upgrade", "rollback", "upgrade"]


async def test_a_rollback_that_could_not_reach_the_api_is_retried(monkeypatch):
    world = await ready_world(features=MEMCACHED)
    await failing_upgrade(world)
    real = world.helm.rollback

    async def cannot(release, revision, manifest):
        raise TransientError("helm rollback: Kubernetes cluster unreachable")

    monkeypatch.setattr(world.helm, "rollback", cannot)
    await world.run(320)
    assert told(world)[2] == "helm rollback: Kubernetes cluster unreachable"
    monkeypatch.setattr(world.helm, "rollback", real)
    await world.run(120)
    assert told(world)[1] == "BlockedRolledBack"
    assert [verb for verb, _ in world.helm.calls] == ["upgrade", "rollback"]


async def test_a_rollback_of_a_helm_that_was_killed_is_done_again(monkeypatch):
    world = await ready_world(features=MEMCACHED)
    good = record(world).digest
    await failing_upgrade(world, seconds=598)
    with monkeypatch.context() as killed:
        killed.setattr(world.helm, "rollback", lambda release, revision, manifest: asyncio.Event().wait())
        await world.run(30)
        assert (told(world)[1], world.helm.calls) == ("RollingBack", [("upgrade", RELEASE)])
        await world.stop()
    world.helm.record(RELEASE, 3, "pending-rollback", good)
    await world.run(30)
    assert told(world)[1] == "RollingBack"
    await world.run(60)
    assert [verb for verb, _ in world.helm.calls] == ["upgrade", "rollback"]
    assert (record(world).digest, record(world).state) == (good, "deployed")
    assert told(world)[1] == "BlockedRolledBack" and "; rolled back to revision 1" in told(world)[2]


async def test_a_failed_release_does_not_prevent_the_rollback_of_another():
    world = World()
    releases = [{"name": name, "chart": chart, "values": {}} for name, chart in (("a", "mariadb"), ("b", "memcached"))]
    bundle = {"metadata": {"name": "mine", "namespace": NAMESPACE}, "spec": {"releases": releases}}
    world.cluster.put(HelmBundle.KIND, bundle)
    await world.settle()
    world.kubelet.broken["memcached"] = UNREADY
    releases[1]["values"] = {"conf": {"memcached": {"memory": 99}}}
    live = world.get(HelmBundle.KIND, "mine")
    world.cluster.put(HelmBundle.KIND, {**live, "spec": {"releases": releases}})
    await world.run(60)
    world.helm.fail["mariadb"] = TerminalError("helm upgrade: broken")
    releases[0]["values"] = {"pod": {}}
    live = world.get(HelmBundle.KIND, "mine")
    world.cluster.put(HelmBundle.KIND, {**live, "spec": {"releases": releases}})
    await world.run(700)
    assert world.helm.calls.count(("rollback", (NAMESPACE, "b"))) == 1
    assert world.condition("Ready", world.get(HelmBundle.KIND, "mine"))[2] == "helm upgrade: broken"


async def test_each_of_many_upgrades_in_a_row_that_fail_is_rolled_back():
    """Helm deletes the oldest revisions, so the first one no longer exists when the last upgrade fails."""
    world = await ready_world(features=MEMCACHED)
    good = record(world).digest
    for turn in range(8):
        await failing_upgrade(world, 90 + turn, 620)
        assert record(world).digest == good
        healed(world)
        await world.run(30)
        assert told(world)[1] == "BlockedRolledBack", told(world)
    assert [verb for verb, _ in world.helm.calls] == ["upgrade", "rollback"] * 8


async def test_an_operator_killed_between_helm_and_its_report_still_rolls_back_in_time():
    world = await ready_world(features=MEMCACHED)
    world.kubelet.broken["memcached"] = UNREADY
    await world.stop()
    # As if helm had run for the new values and the operator had been killed before it wrote the status.
    world.cloud(**with_memory(99))
    await world.run(0.01)
    status = world.bundle("memcached")["status"]
    await world.run(2)
    await world.stop()
    world.cluster.put(HelmBundle.KIND, {**world.bundle("memcached"), "status": {**status}})
    await world.run(620)
    assert [verb for verb, _ in world.helm.calls] == ["upgrade", "rollback"]


async def test_a_release_that_was_ready_is_never_rolled_back_for_a_pod_that_fails_later():
    world = await ready_world(features=MEMCACHED)
    world.kubelet.broken["memcached"] = UNREADY
    world.kubelet.sync(STATEFULSET, "memcached")
    await world.run(3600)
    assert world.helm.calls == []
    assert world.condition()[:2] == ("False", "NotReady")
    world.kubelet.broken.clear()
    world.kubelet.sync(STATEFULSET, "memcached")
    await world.settle()
    assert world.ready()


@pytest.mark.parametrize("state", ["pending-install", "pending-upgrade", "pending-rollback"])
async def test_the_record_of_a_helm_that_was_killed_is_removed_and_the_upgrade_done(state):
    world = await ready_world(features=MEMCACHED)
    await world.stop()
    world.helm.record(RELEASE, 2, state, "half")
    await world.settle()
    assert world.ready()
    assert world.helm.calls == [("upgrade", RELEASE)]
    assert record(world).state == "deployed"


async def test_a_partially_rejected_release_is_retried_once_a_minute():
    world = await ready_world(features=MEMCACHED)
    await world.stop()
    world.helm.record(RELEASE, 2, "failed", record(world).digest)
    await world.run(30)
    assert world.helm.calls == []
    assert world.condition("Ready", world.bundle("memcached"))[1] == "BlockedFailed"
    await world.run(40)
    assert world.helm.calls == [("upgrade", RELEASE)]
    await world.settle()
    assert world.ready()


QUANTITY = (
    'cannot patch "memcached" with kind StatefulSet: StatefulSet in version "v1" cannot be handled as a StatefulSet: '
    "quantities must match the regular expression '^([+-]?[0-9.]+)$'"
)


async def test_the_cause_of_a_rejected_upgrade_is_at_every_level_and_survives_a_restart():
    world = await ready_world(features=MEMCACHED)
    world.helm.refuse["memcached"] = QUANTITY
    world.cloud(**with_memory(99))
    for _ in range(3):
        await world.run(20)
        for obj in (world.bundle("memcached"), world.get(Memcached.KIND, "memcached"), world.osdpl):
            status, reason, message = world.condition("Ready", obj)
            assert status == "False" and reason.startswith("Blocked")
            assert "quantities must match the regular expression" in message
        await world.stop()
    live = world.bundle("memcached")
    world.cluster.put(HelmBundle.KIND, {**live, "status": {}})
    await world.run(5)
    told = f"Release openstack-memcached failed: {QUANTITY}"
    assert world.condition("Ready", world.bundle("memcached")) == ("False", "BlockedFailed", told)
    assert world.bundle("memcached")["status"]["releaseStatuses"]["openstack-memcached"]["message"] == told
    world.helm.refuse.clear()
    world.cloud(features=MEMCACHED)
    await world.settle()
    assert world.ready()


async def test_a_release_that_is_no_longer_in_the_bundle_is_uninstalled():
    world = World()
    release = {"chart": "memcached", "values": {}}
    bundle = {
        "metadata": {"name": "mine", "namespace": NAMESPACE},
        "spec": {"releases": [{**release, "name": "a"}, {**release, "name": "b"}]},
    }
    world.cluster.put(HelmBundle.KIND, bundle)
    await world.settle()
    live = world.get(HelmBundle.KIND, "mine")
    world.cluster.put(HelmBundle.KIND, {**live, "spec": {"releases": [{**release, "name": "a"}]}})
    await world.settle()
    assert ("uninstall", (NAMESPACE, "b")) in world.helm.calls
    assert not world.helm.records((NAMESPACE, "b"))
    assert world.get(HelmBundle.KIND, "mine")["status"]["releaseStatuses"].keys() == {"a"}


async def test_helm_starts_as_soon_as_the_status_names_the_release():
    world = World()
    release = {"name": "a", "chart": "memcached", "values": {}}
    world.cluster.put(
        HelmBundle.KIND, {"metadata": {"name": "mine", "namespace": NAMESPACE}, "spec": {"releases": [release]}}
    )
    await world.run(SETTLE / 2)
    assert world.helm.calls == [("upgrade", (NAMESPACE, "a"))]
    await world.settle()
    assert world.helm.calls == [("upgrade", (NAMESPACE, "a"))]


async def test_a_release_in_another_namespace_is_found():
    world = World()
    world.settings = dataclasses.replace(SETTINGS, unrestricted=True)
    release = {"name": "a", "chart": "memcached", "values": {}, "namespace": "elsewhere"}
    world.cluster.put(
        HelmBundle.KIND, {"metadata": {"name": "mine", "namespace": NAMESPACE}, "spec": {"releases": [release]}}
    )
    await world.settle()
    assert world.helm.calls == [("upgrade", ("elsewhere", "a"))]
    assert world.ready(world.get(HelmBundle.KIND, "mine"))
    world.delete(HelmBundle.KIND, "mine")
    await world.settle()
    assert world.helm.calls[1:] == [("uninstall", ("elsewhere", "a"))]
    assert world.get(HelmBundle.KIND, "mine") is None


async def test_a_bundle_that_cannot_be_uninstalled_reports_why_and_is_deleted_later(monkeypatch):
    world = await ready_world(features=MEMCACHED)
    real = world.helm.uninstall

    async def cannot(release):
        raise TransientError("helm uninstall: Kubernetes cluster unreachable")

    monkeypatch.setattr(world.helm, "uninstall", cannot)
    world.delete(HelmBundle.KIND, "openstack-memcached")
    await world.run(20)
    assert "cluster unreachable" in world.condition("Ready", world.bundle("memcached"))[2]
    monkeypatch.setattr(world.helm, "uninstall", real)
    await world.settle(patience=90)
    assert world.ready()
    assert world.bundle("memcached")["metadata"].get("deletionTimestamp") is None


async def test_a_new_chart_of_a_new_operator_upgrades_the_release(monkeypatch):
    world = await ready_world(features=MEMCACHED)
    await world.stop()
    import tests.scenario.world as module

    newer = {**SETTINGS.charts, "memcached": "newer"}
    monkeypatch.setattr(module, "SETTINGS", type(SETTINGS)(SETTINGS.images, newer))
    await world.settle()
    assert world.helm.calls == [("upgrade", RELEASE)]
    assert world.ready()
