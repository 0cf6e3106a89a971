"""Objects are restored without status while the first list of a login lacks items; nothing may be created twice.

A replica of an API that has just started may respond to a list with 200 and too few items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.api.meta import Kind
from stackwright.core.objects import FINALIZER
from stackwright.core.openstack.clouds import Subscription
from stackwright.core.openstack.resources import CloudRef, CloudResource
from stackwright.core.plan import Object
from tests.scenario.capi_world import CLUSTERS, MACHINES, SERVERS
from tests.scenario.openstack.test_moved import KEPT, KINDS, POOLS, restored, small
from tests.scenario.pool_world import pools
from tests.scenario.real_port import Connection, real_port
from tests.scenario.server_world import KIND, VOLUMES, Servers, made
from tests.scenario.world import NAMESPACE, World

Shorten = Callable[..., None]  # type, numbers of items
__all__ = ["real_port"]
pytestmark = [pytest.mark.looptime, pytest.mark.usefixtures("real_port")]


@pytest.fixture
def shortened(monkeypatch: pytest.MonkeyPatch) -> Shorten:
    """Limits the next lists of a type to these numbers of items; later lists are complete."""

    def shorten(what: str, *counts: int) -> None:
        real, left = Connection.fetch, list(counts)

        def fetch(self: Connection, listed: str, since: str = "") -> list[CloudResource]:
            found = real(self, listed, since)
            return found[: left.pop(0)] if listed == what and left else found

        monkeypatch.setattr(Connection, "fetch", fetch)

    return shorten


async def removed(**spec: Any) -> tuple[Servers, Object]:
    """A world whose server object was lost with its operator, and the object as a backup contains it."""
    world = await made(**VOLUMES, **spec)
    await world.run(400)
    await world.stop()
    (backup,) = bare([world.get()])
    del world.cluster._objects[KIND, (NAMESPACE, "web")]
    await world.run(30)
    return world, backup


def marked(world: World) -> set[tuple[str, str]]:
    return {(thing.type, thing.id) for thing in world.clouds.all() if thing.mark}


def changes(world: World, before: int) -> list[str]:
    """Creations and deletions, without rules: a request for an existing rule creates none."""
    calls = world.clouds.calls[before:]
    return [str(call) for call in calls if call.do != "update" and call.resource_key[0] != "security-group-rule"]


def bare(objects: Iterable[Object]) -> Iterable[Object]:
    """The objects as a backup contains them."""
    for obj in objects:
        yield {
            "metadata": {name: obj["metadata"][name] for name in KEPT if name in obj["metadata"]},
            "spec": obj["spec"],
        }


def restore(world: World, backup: World, kinds: Iterable[Kind] = KINDS) -> None:
    for kind in kinds:
        for obj in bare(backup.cluster.all(kind)):
            world.cluster.put(kind, obj)


LACKING = [
    *((what, (0,)) for what in ("floating-ip", "router", "port", "security-group", "network", "subnet")),
    *((what, counts) for what in ("port", "security-group") for counts in ((1,), (0, 1))),
]


@pytest.mark.parametrize(("what", "counts"), LACKING)
async def test_a_cluster_restored_while_the_first_list_lacks_items_adopts_everything(
    what: str, counts: tuple[int, ...], shortened: Shorten
) -> None:
    old = await small()
    await old.stop()
    backup, world = restored(old), restored(old, ())
    before, calls = marked(world), len(world.clouds.calls)
    await world.run(30)
    shortened(what, *counts)
    restore(world, backup)
    await world.run(300)
    assert (marked(world), changes(world, calls)) == (before, [])
    for kind, name in ((CLUSTERS, "c"), (MACHINES, "m")):
        assert world.told(kind=kind, name=name) == ("Ready", "")


@pytest.mark.parametrize("what", ["server", "port", "volume", "trunk"])
async def test_a_server_restored_while_the_first_list_lacks_items_adopts_everything(
    what: str, shortened: Shorten
) -> None:
    world, backup = await removed(trunk=what == "trunk")
    before, calls = marked(world), len(world.clouds.calls)
    shortened(what, 0)
    world.cluster.put(KIND, backup)
    await world.run(300)
    assert (marked(world), changes(world, calls)) == (before, [])
    assert world.told() == ("Ready", "")


@pytest.mark.parametrize("what", ["port", "trunk"])
async def test_what_a_server_had_before_a_restore_is_kept_although_several_lists_lack_it(
    what: str, shortened: Shorten
) -> None:
    world, backup = await removed(trunk=True)
    before = marked(world)
    shortened(what, 0, 0)
    world.cluster.put(KIND, backup)
    await world.run(500)
    assert before < marked(world)
    (original,) = (id_ for each, id_ in before if each == what)
    assert f"{what} {original}" in str(world.status["conditions"])
    world.delete(KIND, "web")
    await world.run(100)
    assert marked(world) == set()


@pytest.mark.parametrize("what", ["network", "security-group", "floating-ip"])
async def test_what_a_cluster_had_before_a_restore_is_kept_although_several_lists_lack_it(
    what: str, shortened: Shorten
) -> None:
    old = await small()
    await old.run(400)
    await old.stop()
    backup, world = restored(old), restored(old, ())
    before = marked(world)
    await world.run(30)
    shortened(what, 0, 0)
    restore(world, backup)
    await world.run(500)
    assert before < marked(world)
    (original, *_) = (id_ for each, id_ in sorted(before) if each == what)
    assert f"{what} {original}" in str(world.status()["conditions"])


@pytest.mark.parametrize("what", ["server", "port", "volume", "trunk"])
async def test_a_server_restored_and_deleted_while_the_first_list_lacks_items_leaves_nothing(
    what: str, shortened: Shorten
) -> None:
    world, backup = await removed(trunk=True)
    shortened(what, 0)
    world.cluster.put(KIND, {**backup, "metadata": {**backup["metadata"], "finalizers": [FINALIZER]}})
    await world.cluster.delete(KIND, (NAMESPACE, "web"))
    await world.run(300)
    assert marked(world) == set()
    assert not world.get()


async def test_a_server_object_that_is_recreated_while_the_first_list_lacks_its_port_adopts_everything(
    shortened: Shorten,
) -> None:
    """Its machine, which stayed, has a providerID."""
    old = await small()
    await old.run(100)
    await old.stop()
    world = old.again()
    world.cluster._objects = {key: obj for key, obj in world.cluster._objects.items() if key[0] != SERVERS}
    before, calls = marked(world), len(world.clouds.calls)
    shortened("port", 0)
    await world.run(300)
    assert (marked(world), changes(world, calls)) == (before, [])
    assert world.told(kind=MACHINES, name="m") == ("Ready", "")


async def test_a_server_that_is_moved_here_adopts_what_began_after_the_last_list() -> None:
    """The last requests of another cluster may take effect after the move."""
    world, backup = await removed(trunk=True)
    before = marked(world)
    things = {key: thing for key, thing in world.clouds.things.items() if thing.mark}
    world.clouds.things = {key: thing for key, thing in world.clouds.things.items() if not thing.mark}
    world.server("other")
    await world.run(40)
    calls, there = len(world.clouds.calls), marked(world)
    world.cluster.put(KIND, backup)
    await world.run(2)
    world.clouds.things |= things
    await world.run(300)
    assert (marked(world), changes(world, calls)) == (before | there, [])
    assert world.told() == ("Ready", "")


async def test_a_pool_restored_while_the_first_list_lacks_items_adopts_its_addresses(shortened: Shorten) -> None:
    old = await pools(reclaimPolicy="Delete")
    old.claim("a")
    await old.run(60)
    await old.stop()
    backup, world = restored(old), restored(old, ())
    before, calls = marked(world), len(world.clouds.calls)
    await world.run(30)
    shortened("floating-ip", 0)
    restore(world, backup)
    await world.run(300)
    assert (marked(world), changes(world, calls)) == (before, [])
    assert world.told(kind=POOLS, name="p")[0] == "Ready"


async def test_new_objects_need_no_second_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Includes the server of a new machine, which inherits the machine's origin."""
    asked: dict[str, Subscription] = {}
    real = OpenStackClouds.subscribe

    async def subscribe(self: OpenStackClouds, cloud: CloudRef, subscription: Subscription) -> None:
        asked.setdefault(subscription.uid, subscription)
        await real(self, cloud, subscription)

    monkeypatch.setattr(OpenStackClouds, "subscribe", subscribe)
    await small()
    assert sorted((each.controller, each.begun) for each in asked.values()) == [
        ("capicluster", False),
        ("server", False),
    ]
