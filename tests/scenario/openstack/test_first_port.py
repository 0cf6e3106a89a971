"""A floating IP belongs to the port that is first in the spec of its server, whichever port was recorded first."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.openstack.resources import CloudResource
from stackwright.core.plan import Object
from tests.scenario.capi_world import CLUSTERS, MACHINES, PART, SERVERS, Clusters
from tests.scenario.openstack.test_moved import restored
from tests.scenario.real_port import Connection, RealPort, real_port

__all__ = ["real_port"]
pytestmark = pytest.mark.looptime


def two_networks() -> tuple[Clusters, list[Object]]:
    """A world with a network of storage, and two ports: the first in the network of the cluster, the second there."""
    world = Clusters()
    storage = world.foreigner("network", "storage")
    world.foreigner("subnet", "storage", network_id=storage.id)
    return world, [{"nameSuffix": "a"}, {"nameSuffix": "b", "network": {"id": storage.id}}]


def recorded(world: Clusters, name: str) -> list[str]:
    return [port["name"] for port in world.status(SERVERS, name)["resources"]["ports"]]


def attached(world: Clusters) -> set[str]:
    """Names of the ports with a floating IP."""
    names = {port.id: port.name for port in world.clouds.all("port")}
    ports = (address.facts.get("port_id") for address in world.clouds.all("floating-ip"))
    return {names[port] for port in ports if port}


async def test_the_api_keeps_its_port_after_a_move_with_an_incomplete_list(
    monkeypatch: pytest.MonkeyPatch, real_port: RealPort
) -> None:
    old, ports = two_networks()
    network = ports[1]["network"]["id"]
    router = old.foreigner("router", "way")
    old.foreigner("port", "", network_id=network, device_id=router.id, device_owner="network:router_interface")
    old.make()
    await old.ready()
    old.machine("m", control_plane=True, ports=ports)
    await old.run(200)
    assert attached(old) == {"m-a"}
    await old.stop()
    world, real, lists = restored(old, (CLUSTERS, MACHINES, SERVERS)), Connection.fetch, [0]

    def fetch(self: Connection, what: str, since: str = "") -> list[CloudResource]:
        found = real(self, what, since)
        if what != "port" or self.cloud is not world.clouds:
            return found
        lists[0] += 1
        return [port for port in found if port.name != "m-a" or lists[0] > 1]

    monkeypatch.setattr(Connection, "fetch", fetch)
    calls = len(world.clouds.calls)
    await world.run(200)
    assert recorded(world, "m") == ["m-b", "m-a"]
    assert (attached(world), world.told()[0]) == ({"m-a"}, "Ready")
    assert not [c for c in world.clouds.calls[calls:] if "port_id" in c.body and c.resource_key[0] == "floating-ip"]


async def test_the_api_is_at_its_port_although_that_was_recreated() -> None:
    world, ports = two_networks()
    world.make()
    await world.ready()
    lost: list[Any] = []

    def lose(call: CloudCall) -> None:
        if call.do == "create" and call.resource_key[0] == "server" and not lost:
            lost.append(world.one("port", "m-a").id)
            world.clouds.remove("port", lost[0])
            raise TransientCloudError(Reason.CONFLICT, "HTTP 400: port not found")

    world.clouds.hears = lose
    world.machine("m", control_plane=True, ports=ports)
    await world.run(300)
    assert recorded(world, "m") == ["m-b", "m-a"]
    assert (attached(world), world.told()[0]) == ({"m-a"}, "Ready")


async def test_a_bastion_is_at_its_port_although_that_was_recreated() -> None:
    world, ports = two_networks()
    world.make(bastion={"enabled": True, "spec": {**PART, "ports": ports}}, recreatePolicy="Always")
    await world.run(200)
    assert attached(world) == {"c-bastion-a"}
    world.clouds.remove("port", world.one("port", "c-bastion-a").id)
    await world.run(400)
    assert recorded(world, "c-bastion") == ["c-bastion-b", "c-bastion-a"]
    assert (attached(world), world.told("BastionReady")[0]) == ({"c-bastion-a"}, "Done")
