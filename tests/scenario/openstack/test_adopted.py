"""A machine with only a providerID: its server is adopted, or the machine reports the reason of the refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackwright.api.infra.identity import OpenStackClusterIdentity
from stackwright.core.plan import Object
from tests.scenario.capi_world import CLUSTERS, MACHINES, SERVERS, Clusters, killed_everywhere
from tests.scenario.openstack.test_moved import restored

pytestmark = pytest.mark.looptime
WHOLE: Object = {
    "trunk": True,
    "rootVolume": {"sizeGiB": 10},
    "additionalBlockDevices": [{"name": "data", "sizeGiB": 5, "storage": {"type": "Volume"}}],
}
OF_MACHINE = ("server", "port", "trunk", "volume")


def bare(obj: Object) -> Object:
    """Remove the origin, by which marks are found."""
    if obj["spec"].get("providerID"):
        obj["metadata"]["annotations"] = {}
    return obj


def things(world: Clusters) -> set[tuple[str, str]]:
    return {(t.type, t.id) for t in world.clouds.all() if t.type in OF_MACHINE}


async def unknown(**spec: Any) -> Clusters:
    """Objects as another provider leaves them: a machine without status and origin, and a server without marks."""
    old = Clusters()
    old.make()
    await old.ready()
    old.machine(**spec)
    await old.ready(MACHINES, "m")
    await old.stop()
    world: Clusters = restored(old, (CLUSTERS, MACHINES), bare)
    for key, thing in world.clouds.things.items():
        if thing.type in OF_MACHINE and thing.name.startswith("m"):
            facts = {**thing.facts, "flavor": "small"} if thing.type == "server" else thing.facts
            world.clouds.things[key] = replace(thing, mark="", facts=facts)
    return world


async def test_a_server_without_marks_is_adopted_by_providerid_with_all_that_it_has() -> None:
    world = await unknown(**WHOLE)
    before, known = things(world), (world.get(MACHINES, "m") or {})["spec"]["providerID"]
    await world.run(120)
    assert world.told(kind=MACHINES, name="m")[0] == "Ready"
    assert things(world) == before
    assert (world.get(MACHINES, "m") or {})["spec"]["providerID"] == known
    assert world.status(MACHINES, "m")["addresses"]
    assert world.one("server", "m").mark, "so that nobody else adopts it"
    world.delete(MACHINES, "m")
    await world.settle(patience=20)
    assert not [name for name in world.there() if " m" in name]


async def test_an_adoption_killed_at_every_write_ends_with_one_server() -> None:
    async def end(world: Clusters) -> None:
        assert world.told(kind=MACHINES, name="m")[0] == "Ready"
        assert [t.name for t in world.clouds.all("server")] == ["m"]
        assert [t.name for t in world.clouds.all("port") if t.name.startswith("m")] == ["m-0"]

    await killed_everywhere(unknown, lambda world: None, end, seconds=120)


async def test_in_a_project_that_namespaces_share_nothing_is_adopted_without_a_mark() -> None:
    """Otherwise a tenant who guesses an id, a name and the ids of its ports could have another's server deleted."""
    world = await unknown()
    lent = {"secretRef": {"name": "clouds", "namespace": "admins"}}
    world.cluster.put(OpenStackClusterIdentity.KIND, {"metadata": {"name": "lent"}, "spec": lent})
    world.make(identityRef={"type": "ClusterIdentity", "name": "lent", "cloudName": "mine"})
    before = things(world)
    await world.run(120)
    reason, message = world.told(kind=MACHINES, name="m")
    assert reason == "BlockedInstanceNotFound"
    assert "its project is shared with other namespaces" in message
    world.delete(MACHINES, "m")
    await world.settle(patience=20)
    assert things(world) == before


async def test_a_machine_deleted_before_the_adoption_reports_what_remains() -> None:
    world = await unknown()
    world.delete(CLUSTERS, "c")  # prevents the creation of a server
    await world.run(30)
    known, before = (world.get(MACHINES, "m") or {})["spec"]["providerID"], things(world)
    world.delete(MACHINES, "m")
    await world.run(30)
    assert not world.get(MACHINES, "m")
    assert things(world) == before
    (told,) = [message for _, reason, message, _ in world.cluster.events if reason == "LeftBehind"]
    assert known in told


def _without(what: str, name: str) -> Callable[[Clusters], None]:
    def act(world: Clusters) -> None:
        (thing,) = [t for t in world.clouds.all(what) if t.name == name]
        world.clouds.remove(what, thing.id)

    return act


def _with(**fields: Any) -> Callable[[Clusters], None]:
    def act(world: Clusters) -> None:
        thing = world.one("server", "m")
        world.clouds.things["server", thing.id] = replace(thing, **fields)

    return act


ANOTHERS = "stackwright:6ba7b810-9dad-11d1-80b4-00c04fd430c8:00000000"


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (_without("server", "m"), "which does not exist"),
        (_without("port", "m-0"), "it has no port m-0"),
        (_with(name="other"), "its name is other"),
        (_with(facts={"flavor": "huge"}), "its flavor is huge"),
        (_with(mark=ANOTHERS), "it has the mark of another object"),
    ],
)
async def test_a_server_that_does_not_match_is_not_adopted_and_not_replaced(
    act: Callable[[Clusters], None], why: str
) -> None:
    world = await unknown(recreatePolicy="Always")
    known = (world.get(MACHINES, "m") or {})["spec"]["providerID"]
    act(world)
    before, calls = things(world), len(world.clouds.calls)
    await world.run(120)
    reason, message = world.told(kind=MACHINES, name="m")
    assert (reason, why in message) == ("BlockedInstanceNotFound", True), message
    assert "delete the machine" in message
    assert (world.get(MACHINES, "m") or {})["spec"]["providerID"] == known
    assert things(world) == before
    assert not [str(call) for call in world.clouds.calls[calls:] if call.resource_key[0] in OF_MACHINE]
    world.delete(MACHINES, "m")
    await world.settle(patience=20)
    assert not world.names(SERVERS)
    assert things(world) == before, "what was not adopted is not deleted"
