"""A floating IP that another port uses or another object created is reported and not moved."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, CONTROL_PLANE, NAME
from stackwright.core.openstack.resources import CloudResource
from tests.scenario.capi_world import BASTION, CLUSTERS, MACHINES, MANAGED, PART, SERVERS, Clusters
from tests.scenario.pool_world import POOLS, Pools, pools, served

pytestmark = pytest.mark.looptime
THEIRS = "198.51.100.7"
OR_ELSE = (
    "or recreate the cluster with another one in spec.apiServer.floatingIP; if it is attached to a VIP of the API, "
    "keep it there and set spec.controlPlaneEndpoint, in a new cluster with spec.apiServer.enableFloatingIP: false"
)


def used(world: Clusters) -> tuple[CloudResource, CloudResource]:
    """A user's address on a port of another client."""
    port = world.foreigner("port", "theirs", device_id="vm")
    return world.foreigner("floating-ip", floating_ip_address=THEIRS, port_id=port.id), port


def at(world: Clusters, ip: CloudResource) -> Any:
    return world.clouds.things["floating-ip", ip.id].facts.get("port_id")


async def elsewhere(name: str, **spec: Any) -> tuple[Clusters, CloudResource]:
    """A cluster with a machine of the control plane, and the floating IP of its API."""
    world = Clusters()
    world.make(name, **spec)
    await world.ready(name=name)
    world.machine(f"{name}-cp", cluster=name, control_plane=True)
    await world.run(120)
    return world, world.clouds.things["floating-ip", world.status(name=name)["apiServerFloatingIP"]["id"]]


def intrude(world: Clusters, **spec: Any) -> None:
    """A cluster with a machine, in another namespace with the same credentials."""
    spec = {**MANAGED, "managedSubnets": [{"cidr": "10.9.0.0/24"}], **spec}
    world.cluster.put(CLUSTERS, {"metadata": {"name": "x", "namespace": "tenant"}, "spec": spec})
    meta = {"name": "x-cp", "namespace": "tenant", "labels": {NAME: "x", CONTROL_PLANE: ""}}
    world.cluster.put(MACHINES, {"metadata": meta, "spec": dict(PART)})


def told_of_intruder(world: Clusters) -> tuple[str, str]:
    conditions = (world.cluster.peek(CLUSTERS, ("tenant", "x")) or {})["status"]["conditions"]
    (ready,) = [each for each in conditions if each["type"] == "Ready"]
    return ready["reason"], ready["message"]


async def test_an_api_address_on_a_port_of_another_client_is_not_moved() -> None:
    world = Clusters()
    ip, port = used(world)
    world.make(apiServer={"floatingIP": THEIRS})
    world.machine("cp", control_plane=True)
    await world.run(200)
    assert world.told() == (
        "AddressInUse", f"Floating IP {THEIRS} is attached to port {port.id}, which does not belong to this cluster; "
        "detach it "
        f"there, {OR_ELSE}",
    )  # fmt: skip
    assert at(world, ip) == port.id
    assert not (world.get(CLUSTERS, "c") or {})["spec"].get("controlPlaneEndpoint"), "Cluster API keeps it for ever"
    assert not world.status().get("apiServerFloatingIP")
    world.clouds.become(ip, "", port_id=None)
    await world.run(200)
    assert world.told()[0] == "Ready"
    assert at(world, ip) == world.one("port", "cp").id


@pytest.mark.parametrize("host", ["api.example.org", THEIRS])
@pytest.mark.parametrize("later", [False, True], ids=["at-once", "later"])
async def test_an_address_on_a_vip_of_the_user_is_kept_and_the_cluster_becomes_ready(host: str, later: bool) -> None:
    world = Clusters()
    ip, port = used(world)
    given = {"controlPlaneEndpoint": {"host": host, "port": 6443}}
    world.make(apiServer={"floatingIP": THEIRS}, **({} if later else given))
    world.machine("cp", control_plane=True)
    await world.run(200)
    if later:
        assert not world.status()["ready"]
        world.make(apiServer={"floatingIP": THEIRS}, **given)
        await world.run(200)
    text = f"Floating IP {THEIRS} is attached to port {port.id}, which does not belong to this cluster"
    assert world.told("APIEndpointReady") == (
        "Done",
        f"{text}; it is kept there, and the endpoint of the API is {host}",
    )
    status = world.status()
    assert (world.told()[0], status["ready"], at(world, ip)) == ("Ready", True, port.id)
    assert status["controlPlaneEndpoint"] == given["controlPlaneEndpoint"]


async def test_a_machine_with_an_unknown_server_adds_no_foreign_address_to_the_endpoint() -> None:
    """Cluster API never removes an address from the endpoint."""
    world = Clusters()
    ip, port = used(world)
    world.machine("cp", control_plane=True, providerID="openstack:///00000000-0000-4000-9000-0000000000ff")
    world.make(apiServer={"floatingIP": THEIRS})
    await world.run(400)
    assert (world.told()[0], at(world, ip)) == ("AddressInUse", port.id)
    assert not (world.get(CLUSTERS, "c") or {})["spec"].get("controlPlaneEndpoint")
    assert not world.status().get("controlPlaneEndpoint")


async def test_an_unusable_address_may_be_removed_from_the_spec() -> None:
    world = Clusters()
    ip, port = used(world)
    world.make(apiServer={"floatingIP": THEIRS, "fixedIP": "10.6.0.5"})
    await world.run(60)
    assert (world.told()[0], world.status().get("controlPlaneEndpoint")) == ("AddressInUse", None)
    world.make(apiServer={"enableFloatingIP": False, "fixedIP": "10.6.0.5"})
    await world.run(60)
    assert (world.told()[0], world.status()["controlPlaneEndpoint"]["host"]) == ("Ready", "10.6.0.5")
    assert at(world, ip) == port.id


async def test_an_api_address_that_others_attach_elsewhere_later_is_reported_and_not_moved() -> None:
    world = Clusters()
    ip = world.foreigner("floating-ip", floating_ip_address=THEIRS)
    world.make(apiServer={"floatingIP": THEIRS})
    world.machine("cp", control_plane=True)
    await world.run(120)
    assert at(world, ip) == world.one("port", "cp").id
    port = world.foreigner("port", "theirs")
    world.clouds.become(ip, "", port_id=port.id)
    await world.run(200)
    assert (world.told()[0], at(world, ip)) == ("Ready", port.id), "perhaps to a VIP of the user's"
    text = f"Floating IP {THEIRS} is attached to port {port.id}, which does not belong to this cluster"
    assert world.told("APIEndpointReady") == (
        "Done",
        f"{text}; it is kept there, and the endpoint of the API is {THEIRS}",
    )
    assert (world.get(CLUSTERS, "c") or {})["spec"]["controlPlaneEndpoint"]["host"] == THEIRS
    world.clouds.become(ip, "", port_id=None)
    await world.run(200)
    assert (world.told()[0], at(world, ip)) == ("Ready", world.one("port", "cp").id)


@pytest.mark.parametrize("free", [False, True], ids=["attached", "free"])
async def test_an_address_created_by_another_cluster_is_not_used(free: bool) -> None:
    world, ip = await elsewhere("c")
    if free:
        world.delete(MACHINES, "c-cp")
        await world.run(60)
    before, address = at(world, ip), ip.facts["floating_ip_address"]
    calls = len(world.clouds.calls)
    intrude(world, apiServer={"floatingIP": address})
    await world.run(200)
    assert told_of_intruder(world) == (
        "AddressInUse",
        f"Floating IP {address} has the mark of another object in its description; remove the mark if that "
        f"object no longer exists, {OR_ELSE}",
    )  # fmt: skip
    assert (at(world, ip), world.told()[0]) == (before, "Ready")
    assert not [call for call in world.clouds.calls[calls:] if call.id == ip.id]
    await world.cluster.delete(MACHINES, ("tenant", "x-cp"))
    await world.cluster.delete(CLUSTERS, ("tenant", "x"))
    await world.run(100)
    assert (at(world, ip), world.told()[0]) == (before, "Ready")


async def test_a_users_address_of_one_cluster_is_not_used_by_another() -> None:
    world = Clusters()
    ip = world.foreigner("floating-ip", floating_ip_address=THEIRS)
    world.make(apiServer={"floatingIP": THEIRS})
    world.machine("cp", control_plane=True)
    await world.run(120)
    before, calls = at(world, ip), len(world.clouds.calls)
    intrude(world, apiServer={"floatingIP": THEIRS})
    await world.run(200)
    assert (at(world, ip), world.told()[0], told_of_intruder(world)[0]) == (before, "Ready", "AddressInUse")
    assert not [call for call in world.clouds.calls[calls:] if call.id == ip.id]


async def test_an_own_address_that_others_attached_elsewhere_is_reattached() -> None:
    world, ip = await elsewhere("c")
    before = at(world, ip)
    assert before == world.one("port", "c-cp").id
    world.clouds.become(ip, "", port_id=world.foreigner("port", "theirs").id)
    await world.run(200)
    assert (at(world, ip), world.told()[0]) == (before, "Ready")


async def test_a_bastion_address_on_a_port_of_another_client_is_not_moved() -> None:
    world = Clusters()
    ip, port = used(world)
    world.make(bastion={**BASTION, "floatingIP": THEIRS})
    await world.run(120)
    assert world.told("BastionReady") == (
        "AddressInUse", f"Floating IP {THEIRS} is attached to port {port.id}, which does not belong to this bastion; "
        "detach it "
        "there, or set another one in spec.bastion.floatingIP",
    )  # fmt: skip
    assert at(world, ip) == port.id
    assert not world.status()["bastion"].get("floatingIP")
    world.clouds.become(ip, "", port_id=None)
    await world.run(120)
    assert (world.told()[0], at(world, ip)) == ("Ready", world.one("port", "c-bastion").id)


async def test_an_address_created_by_another_cluster_is_not_used_by_a_bastion() -> None:
    world, ip = await elsewhere("c")
    before, address = at(world, ip), ip.facts["floating_ip_address"]
    intrude(world, bastion={**BASTION, "floatingIP": address})
    await world.run(200)
    reason, message = told_of_intruder(world)
    assert reason == "AddressInUse" and f"Floating IP {address} has the mark of another object" in message
    assert (at(world, ip), world.told()[0]) == (before, "Ready")


async def test_one_address_for_the_api_and_the_bastion_is_attached_to_one_of_them() -> None:
    world = Clusters()
    ip = world.foreigner("floating-ip", floating_ip_address=THEIRS)
    world.make(apiServer={"floatingIP": THEIRS}, bastion={**BASTION, "floatingIP": THEIRS})
    world.machine("cp", control_plane=True)
    await world.run(200)
    assert at(world, ip)
    assert world.told()[0] == "AddressInUse"
    calls = len(world.clouds.calls)
    await world.run(300)
    assert len(world.clouds.calls) == calls


async def test_an_api_address_on_the_bastion_is_reported() -> None:
    world = Clusters()
    world.foreigner("floating-ip", floating_ip_address=THEIRS)
    world.make(apiServer={"floatingIP": THEIRS}, bastion={**BASTION, "floatingIP": THEIRS})
    await world.run(200)
    world.machine("cp", control_plane=True)
    await world.run(200)
    assert world.told("APIEndpointReady")[0] == "AddressInUse"
    assert world.status()["controlPlaneEndpoint"]["host"] == THEIRS


async def test_a_server_attaches_only_addresses_of_its_own_pool() -> None:
    world = await served()
    (own,) = world.clouds.all("floating-ip")
    world.make()
    await world.run(60)
    theirs = world.status()["apiServerFloatingIP"]
    told = world.get(ADDRESS, "web-floating-ip-address") or {}
    world.cluster.put(ADDRESS, {**told, "spec": {**told["spec"], "address": theirs["address"]}})
    world.clouds.become(own, "", port_id=None)
    await world.run(120)
    assert world.told(kind=SERVERS, name="web") == (
        "AddressInUse", f"Floating IP {theirs['address']} has the mark of another object in its description; remove "
        "the mark if that object no longer exists, or delete IPAddressClaim web-floating-ip-address to claim another "
        "one",
    )  # fmt: skip
    assert world.clouds.things["floating-ip", theirs["id"]].facts["port_id"] is None
    world.delete(CLAIM, "web-floating-ip-address")
    await world.run(120)
    assert world.told(kind=SERVERS, name="web")[0] == "Ready"


async def test_a_pool_does_not_assign_an_address_of_another_object() -> None:
    world = Pools()
    world.make()
    await world.run(60)
    theirs = world.status()["apiServerFloatingIP"]["address"]
    await pools(world, preAllocatedFloatingIPs=[theirs])
    world.claim("a")
    await world.run(60)
    assert world.served()["a"] != theirs
    status = world.status(POOLS, "p")
    assert (status["failedIPs"], status.get("availableIPs", [])) == ([theirs], [])
    text = (
        f"Floating IP {theirs} of spec.preAllocatedFloatingIPs is not used: it has the mark of another object in its "
        "description; remove the mark if that object no longer exists"
    )
    assert world.told("AddressesReady", POOLS, "p") == ("Done", text)
