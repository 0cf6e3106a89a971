"""The clock is set one hour back or 700 s forward: no duration depends on it, so nothing changes."""

import pytest

from stackwright.api.kinds import SECRET, STATEFULSET
from stackwright.core.errors import TerminalError
from stackwright.core.objects import EXPIRES, annotation, key_of
from stackwright.core.secrets import certificate_validity
from stackwright.core.secrets.fernet import ROTATED
from tests.scenario.releases.test_releases import MEMCACHED, RELEASE, record, with_memory
from tests.scenario.world import UNREADY, World, ready_world

pytestmark = pytest.mark.looptime
HOUR_BACK, FORWARD = -3600.0, 700.0
steps = pytest.mark.parametrize("step", [HOUR_BACK, FORWARD])


def touched(world):
    """Queue all HelmBundles, as after an event."""
    for name in ("memcached", "mariadb"):
        if obj := world.get(STATEFULSET, f"{name}-server" if name == "mariadb" else name):
            obj["metadata"].setdefault("annotations", {})["example.org/touched"] = str(world.clock.now())
            world.cluster.put(STATEFULSET, obj)


@steps
async def test_an_idle_cloud_stays_ready_without_writes(step):
    world = await ready_world()
    writes = world.writes
    world.clock.step(step)
    touched(world)
    await world.run(30)
    assert world.ready()
    assert world.writes == writes


@steps
async def test_nor_after_a_restart_of_the_operator(step):
    world = await ready_world()
    await world.stop()
    world.clock.step(step)
    writes = world.writes
    await world.settle()
    assert world.ready()
    assert world.writes == writes


@steps
async def test_a_release_that_is_just_deployed_gets_ready_as_ever(step):
    world = World()
    world.cloud(features=MEMCACHED)
    while not world.helm.calls:
        await world.run(0.2)
    world.clock.step(step)
    await world.run(20)
    assert world.ready()


@steps
async def test_an_upgrade_has_all_of_its_time_and_no_more(step):
    world = await ready_world(features=MEMCACHED)
    world.kubelet.broken["memcached"] = UNREADY
    world.cloud(**with_memory(99))
    await world.run(5)
    world.clock.step(step)
    touched(world)
    await world.run(585)
    assert world.helm.calls == [("upgrade", RELEASE)]
    await world.run(20)
    assert world.helm.calls == [("upgrade", RELEASE), ("rollback", RELEASE)]


@steps
async def test_a_failed_release_is_retried_after_a_minute(step):
    world = await ready_world(features=MEMCACHED)
    await world.stop()
    old = record(world)
    world.helm.record(RELEASE, 2, "failed", old.digest)
    await world.run(5)
    world.clock.step(step)
    touched(world)
    await world.run(50)
    assert world.helm.calls == []
    await world.run(10)
    assert world.helm.calls == [("upgrade", RELEASE)]


async def test_an_operator_that_dies_every_two_minutes_still_rolls_back():
    world = await ready_world(features=MEMCACHED)
    world.kubelet.broken["memcached"] = UNREADY
    world.cloud(**with_memory(99))
    for _ in range(9):
        await world.run(100)
        await world.stop()
    assert world.helm.calls == [("upgrade", RELEASE)]
    for _ in range(3):
        await world.run(100)
        await world.stop()
    assert world.helm.calls == [("upgrade", RELEASE), ("rollback", RELEASE)]


async def test_a_timeout_of_readiness_is_reported_after_a_restart_too():
    world = World()
    world.kubelet.broken["memcached"] = UNREADY
    world.cloud(features=MEMCACHED)
    await world.run(700)
    assert world.condition("Ready", world.bundle("memcached"))[1] == "BlockedNotReady"
    await world.stop()
    writes = world.writes
    await world.run(60)
    assert world.condition("Ready", world.bundle("memcached"))[1] == "BlockedNotReady"
    assert world.writes == writes


async def test_a_rejected_chart_is_retried_despite_jumps_of_the_clock():
    world = World()
    world.helm.fail["memcached"] = TerminalError("helm upgrade: no")
    world.cloud(features=MEMCACHED)
    await world.run(20)
    world.clock.step(HOUR_BACK)
    del world.helm.fail["memcached"]
    await world.settle(patience=90)
    assert world.ready()


async def test_certificates_from_a_clock_that_was_ahead_are_reissued_without_an_event():
    """Certificates were not valid yet, and keys were not rotated, until the clock had reached that time again."""
    world = await ready_world(whole=True)
    step = 40 * 24 * 3600.0
    world.clock.step(step)
    certificates = [key_of(obj) for obj in world.cluster.all(SECRET) if annotation(obj, EXPIRES)]
    for key in certificates:
        world.cluster.remove(SECRET, key)
    await world.run(2 * 3600)
    world.clock.step(-step)
    await world.run(2 * 3600)
    now = world.clock.now()
    keys = [float(annotation(obj, ROTATED)) for obj in world.cluster.all(SECRET) if annotation(obj, ROTATED)]
    assert len(keys) == 2 and max(keys) <= now
    ends = [float(annotation(world.cluster.peek(SECRET, key), EXPIRES)) for key in certificates]
    assert ends and max(ends) <= now + certificate_validity.LIFE
    assert world.ready()
    await world.stop()
