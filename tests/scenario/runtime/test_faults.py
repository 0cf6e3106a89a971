"""The operator is killed at every write, and each write fails the first time: the result is the same.

A kill leaves only the written state, so a snapshot of the world before and after each write equals the state after a
kill at that write. A new operator must bring each snapshot to the state of an undisturbed one. A commit tries a
sample of the snapshots, and `make sweep` all of them (see `sweep`).
"""

import pytest

from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import CONTRACT_KINDS
from stackwright.core.errors import Conflict, TransientError
from stackwright.services.keystone.kind import Keystone
from support.faults import Crash, Fuse
from sweep import ALL, parts, sampled
from tests.scenario.world import World, ready_world

pytestmark = pytest.mark.looptime
# Without policies, which are long and cause no additional writes.
SMALL = {"services": ["~memcached", "~messaging"], "network_policies": {"enabled": False}}
# With messaging, and with a resource in each external system.
AUDIT = {**SMALL, "services": ["~memcached"], "logging": {"cadf": {"enabled": True}}}
# Every service but Ceph itself.
WHOLE = {"services": ["block-storage", "object-storage"], "network_policies": {"enabled": False}}
OFTEN = 9  # a Ceph is checked more often than other objects, so such a cloud is only idle for seconds


class Camera(Fuse):
    """Copies the world before and after each write, each state once."""

    def __init__(self, world):
        super().__init__()
        self.pictures = {}
        self._world, self._last = world, None

    async def write(self, what):
        self.count += 1
        self._take(f"before write {self.count}")
        result = await what
        self._take(f"after write {self.count}")
        return result

    def _take(self, name):
        world = self._world
        foreign = (world.helm.calls, world.accounts.calls)
        state = (world.cluster._version, *map(len, foreign))
        if state != self._last:
            self._last = state
            self.pictures[name] = world.again()


class Kill(Fuse):
    """A fuse that prevents all writes after the kill, because other workers of the process end, too."""

    async def write(self, what):
        if self.count >= self.crash_at:
            what.close()
            raise Crash("dead")
        return await super().write(what)


class Failing(Fuse):
    """Lets the first attempt of each write fail, before it is executed or after (a lost response)."""

    def __init__(self, error, after):
        super().__init__()
        self._error, self._after, self._failed = error, after, set()

    async def write(self, what):
        name = self._name(what)
        self.count += 1
        if name in self._failed or name[0] == "event":
            return await what
        self._failed.add(name)
        if self._after:
            await what
        else:
            what.close()
        raise self._error(f"{name} failed once")

    def _name(self, what):
        values = what.cr_frame.f_locals
        action, obj = values.get("action"), values.get("obj") or {}
        return (
            what.__name__,
            str(action or values.get("kind", "")),
            str(values.get("key") or obj.get("metadata", {}).get("name")),
        )


def difference(here, there, path=""):
    """Paths at which two states differ; pytest's own output would be pages long."""
    if isinstance(here, dict) and isinstance(there, dict):
        return [
            line
            for name in sorted(here.keys() | there.keys())
            for line in difference(here.get(name), there.get(name), f"{path}/{name}")
        ]
    return [] if here == there else [f"{path}: {here!r:.200}, not {there!r:.200}"]


def start(features=SMALL, **more):
    world = World()
    world.kubelet.start = 0.0
    world.cloud(features=features, **more)
    return world


async def pictures_of(world, patience=30):
    """Run until the end. Returns a copy of each state between two writes, and the final state."""
    camera = Camera(world)
    await world.start(camera)
    await world.settle(patience)
    await world.stop()
    return camera.pictures, world.state()


async def all_end_like(pictures, wanted, patience=30, every=8, part=ALL):
    """A new operator brings each copy to the wanted state; a commit tries a sample of the copies."""
    for name, world in sampled(pictures.items(), every, part):
        await world.settle(patience)
        assert difference(world.state(), wanted) == [], f"killed {name}"
        await world.stop()


@parts(8)
async def test_a_whole_cloud_that_is_killed_at_any_write_of_its_installation_ends_like_an_undisturbed_one(part):
    pictures, wanted = await pictures_of(start(WHOLE, whole=True), OFTEN)
    assert all(wanted["passwords"].values())
    assert {"Neutron/neutron", "Nova/nova", "Cinder/cinder"} <= wanted["objects"].keys()
    assert len(pictures) > 400
    await all_end_like(pictures, wanted, OFTEN, every=240, part=part)


@parts(3)
async def test_a_whole_cloud_that_is_killed_at_any_write_of_a_change_ends_like_an_undisturbed_one(part):
    world = start(WHOLE, whole=True)
    await world.settle(OFTEN)
    await world.stop()
    fewer = [*WHOLE["services"], "~dashboard"]
    world.cloud(whole=True, features={**WHOLE, "services": fewer}, region_name="Elsewhere")
    pictures, wanted = await pictures_of(world, OFTEN)
    assert "Horizon/horizon" not in wanted["objects"]
    assert len(pictures) > 50
    await all_end_like(pictures, wanted, OFTEN, every=120, part=part)


@parts(3)
async def test_a_whole_cloud_that_is_killed_at_any_write_of_its_deletion_leaves_two_secrets(part):
    world = start(WHOLE, whole=True)
    await world.settle(OFTEN)
    await world.stop()
    world.delete(OpenStackDeployment.KIND, "cloud")
    pictures, wanted = await pictures_of(world, OFTEN)
    assert sorted(wanted["objects"]) == ["Secret/openstack-ca", "Secret/openstack-ceph-keys"]
    assert len(pictures) > 50
    await all_end_like(pictures, wanted, OFTEN, every=120, part=part)


async def test_an_installation_that_is_killed_at_any_write_ends_like_an_undisturbed_one():
    pictures, wanted = await pictures_of(start())
    assert wanted["passwords"] and all(wanted["passwords"].values())
    assert len(pictures) > 50
    await all_end_like(pictures, wanted)


async def test_a_change_that_is_killed_at_any_write_ends_like_an_undisturbed_one():
    world = await ready_world(features=AUDIT)
    await world.stop()
    assert world.accounts.messaging.users
    world.cloud(features={**SMALL, "services": ["~memcached"]})
    pictures, wanted = await pictures_of(world)
    assert len(pictures) > 20
    assert wanted["accounts"]["messaging"] == {"users": [], "vhosts": []}
    await all_end_like(pictures, wanted)


async def test_a_deletion_that_is_killed_at_any_write_leaves_nothing_behind():
    world = await ready_world(features=AUDIT)
    await world.stop()
    world.delete(OpenStackDeployment.KIND, "cloud")
    pictures, wanted = await pictures_of(world)
    assert wanted["objects"] == {}
    assert len(pictures) > 5
    await all_end_like(pictures, wanted)


def users(world):
    return [world.accounts.database.users, world.accounts.messaging.users]


async def test_a_service_that_is_deleted_while_the_operator_lies_dead_after_any_write_leaves_no_account_behind():
    """MariaDB and RabbitMQ remain, so the operator must delete the accounts."""
    pictures, _ = await pictures_of(start(AUDIT))
    with_account = [(name, world) for name, world in pictures.items() if any(users(world))]
    assert len(with_account) > 10
    for name, world in sampled(with_account):
        world.cloud(features={**SMALL, "services": ["~memcached", "~identity"]})
        world.delete(Keystone.KIND, "keystone")
        await world.settle()
        assert users(world) == [{}, {}], f"killed {name}"
        assert not [kind for kind in CONTRACT_KINDS if world.cluster.all(kind.KIND)]
        await world.stop()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [1, 9, 31, 50])
async def test_the_next_operator_recovers_from_a_kill_of_all_workers(number, after):
    world = start()
    with pytest.raises(Crash):
        await world.start(Kill(number, after))
        await world.settle()
    await world.stop()
    assert not world.ready()
    await world.settle()
    assert world.ready()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [TransientError, Conflict])
async def test_when_each_write_but_events_fails_the_first_time_the_cloud_becomes_ready_all_the_same(error, after):
    undisturbed = start(AUDIT)
    await undisturbed.settle()
    world = start(AUDIT)
    fuse = Failing(error, after)
    await world.start(fuse)
    await world.settle(patience=90)
    assert len(fuse._failed) > 30
    assert world.ready()
    assert difference(world.state(), undisturbed.state()) == []


async def test_an_operator_killed_after_every_second_write_reaches_the_goal():
    """Two, because a change in another system and its record are two writes."""
    world = start()
    for deaths in range(200):  # noqa: B007
        try:
            await world.start(Kill(2, after=True))
            await world.settle()
        except Crash:
            await world.stop()
        else:
            break
    assert world.ready()
    assert deaths > 20
