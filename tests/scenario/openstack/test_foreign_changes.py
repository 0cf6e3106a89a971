"""Deletions and changes by other clients, one test per resource type: reported, and recreated or reverted."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.core.openstack.errors import TerminalCloudError
from stackwright.core.openstack.resources import CloudResource
from tests.scenario.capi_world import BASTION, GUARDED, MACHINES, NETWORK, SERVERS, Clusters, killed_everywhere
from tests.scenario.pool_world import Pools, served
from tests.scenario.server_world import ALL, SPEC, WHOLE, made
from tests.scenario.world import World

pytestmark = pytest.mark.looptime


def set_back(world: World) -> list[str]:
    return [message for _, reason, message, _ in world.cluster.events if reason == "SetBack"]


async def put_right(world: Any, thing: CloudResource, facts: dict[str, Any], told: bool = True, by: str = "") -> None:
    """Edit a resource; one request for the id `by` must revert it, and keep additions."""
    before, calls = world.clouds.things[thing.type, thing.id], len(world.clouds.calls)
    world.clouds.edit(thing, **facts)
    await world.run(600)
    after = world.clouds.things[thing.type, thing.id]
    assert after.name == before.name
    for field in facts:
        if field == "tags":
            assert set(after.facts["tags"]) == {*before.facts["tags"], *facts["tags"]}
        else:
            assert after.facts.get(field, before.name) == before.facts.get(field, before.name)
    assert [(call.do, call.id) for call in world.clouds.calls[calls:]] == [("update", by or thing.id)]
    if told:
        (message,) = set_back(world)
        assert f"{thing.type} " in f"{message} " and ", ".join(sorted(facts)) in message


# Servers.

RICH: dict[str, Any] = {
    **WHOLE,
    "tags": ["t"],
    "serverMetadata": [{"key": "a", "value": "1"}],
    "ports": [
        {
            **SPEC["ports"][0],
            "adminStateUp": True,
            "enablePortSecurity": True,
            "allowedAddressPairs": [{"ipAddress": "10.0.0.9"}],
        }
    ],
}


@pytest.mark.parametrize(
    ("what", "facts"),
    [
        ("server", {"name": "theirs"}),
        ("server", {"metadata": {"a": "2"}}),
        ("server", {"tags": ["theirs"]}),
        ("port", {"name": "theirs"}),
        ("port", {"admin_state_up": False}),
        ("port", {"security_groups": ["theirs"], "port_security_enabled": False}),
        ("port", {"allowed_address_pairs": []}),
        ("port", {"tags": ["theirs"]}),
        ("trunk", {"name": "theirs", "tags": []}),
        ("volume", {"name": "theirs"}),
    ],
    ids=str,
)
async def test_foreign_changes_of_a_server_are_reverted(what: str, facts: dict[str, Any]) -> None:
    world = await made(**RICH)
    await put_right(world, next(t for t in world.clouds.all(what) if t.mark), facts)
    assert world.status["ready"]


ADDRESSED = {**WHOLE, "ports": [{**SPEC["ports"][0], "fixedIPs": [{"ipAddress": "10.0.0.5"}]}]}


@pytest.mark.parametrize("what", ["port", "volume"])
async def test_resources_detached_from_a_running_server_are_attached_again(what: str) -> None:
    world = await made(**ADDRESSED)
    server, calls = world.one("server"), len(world.clouds.calls)
    other = next(t for t in world.clouds.all(what) if t.mark)
    world.clouds.detach(server, other)
    await world.run(300)
    (call,) = world.clouds.calls[calls:]
    assert (call.do, call.id, call.body) == ("update", server.id, {f"add_{what}": other.id})
    assert set_back(world) == [f"Restored the state of the spec: server (add_{what})"]
    assert world.status["ready"], world.told()
    assert world.status["addresses"][0]["address"] == "10.0.0.5"


async def test_a_failed_attachment_is_reported_without_a_hot_loop() -> None:
    world = await made(**ADDRESSED)
    volume = next(t for t in world.clouds.all("volume") if t.mark)
    world.clouds.fail["update server"] = TerminalCloudError("Rejected", "HTTP 400: volume is attached elsewhere")
    world.clouds.detach(world.one("server"), volume)
    looks = world.clouds.looks
    await world.run(600)
    assert "volume is attached elsewhere" in world.told()[1]
    assert world.clouds.looks - looks < 60


@pytest.mark.parametrize(
    "facts",
    [{"state": "SHUTOFF"}, {"state": "ACTIVE", "task_state": "migrating"}],
    ids=str,
)
async def test_nothing_is_attached_to_a_server_that_does_not_run(facts: dict[str, str]) -> None:
    world = await made(**ADDRESSED)
    server, calls = world.one("server"), len(world.clouds.calls)
    world.clouds.detach(server, next(t for t in world.clouds.all("volume") if t.mark))
    world.clouds.become(world.clouds.things["server", server.id], **facts)
    await world.run(300)
    assert len(world.clouds.calls) == calls


async def test_a_server_whose_addresses_nova_forgot_keeps_its_port() -> None:
    world = await made(**ADDRESSED)
    calls = len(world.clouds.calls)
    world.clouds.edit(world.one("server"), addresses={})
    await world.run(300)
    assert len(world.clouds.calls) == calls
    assert world.status["ready"]


async def test_fields_outside_of_the_spec_belong_to_the_user() -> None:
    world = await made(**{**WHOLE, "serverMetadata": [{"key": "a", "value": "1"}]})
    calls = len(world.clouds.calls)
    world.clouds.edit(world.one("port"), admin_state_up=False, dns_name="theirs")
    world.clouds.edit(world.one("server"), metadata={"a": "1", "b": "2"}, description="theirs")
    world.clouds.edit(world.one("trunk"), sub_ports=["theirs"])
    await world.run(300)
    assert (len(world.clouds.calls), set_back(world)) == (calls, [])


@pytest.mark.parametrize(
    ("what", "stage", "reason"),
    [
        ("server", "InstanceReady", "BlockedInstanceNotFound"),
        ("port", "ResourcesReady", "BlockedResourceNotFound"),
        ("trunk", "ResourcesReady", "BlockedResourceNotFound"),
        ("volume", "ResourcesReady", "BlockedResourceNotFound"),
    ],
)
async def test_deleted_resources_of_a_server_are_reported_and_recreated_by_policy(
    what: str, stage: str, reason: str
) -> None:
    world = await made(**WHOLE)
    calls, lost = len(world.clouds.calls), next(t for t in world.clouds.all(what) if t.mark)
    world.clouds.remove(what, lost.id)
    await world.run(600)
    assert world.told()[0] == world.told(stage)[0] == reason
    found, out = world.told()[1].split("; set spec.recreatePolicy to Always to recreate it")
    assert out == ", which deletes its server and disks with all data on them, or delete this object"
    assert what in found.removeprefix("Another client deleted ").split(", ")[-1]
    assert not world.status["ready"]
    assert len(world.clouds.calls) == calls, "nothing is made, and nothing taken away"
    world.change(recreatePolicy="Always")
    await world.run(300)
    assert world.status["ready"], world.told()
    assert world.there() == ALL
    assert lost.id not in str(world.status)


async def test_a_pool_address_detached_by_others_is_attached_again() -> None:
    world = await served()
    (ip,) = world.clouds.all("floating-ip")
    await put_right(world, ip, {"port_id": None}, told=False)
    other = world.foreigner("port", "other")
    await put_right(world, ip, {"port_id": other.id}, told=False)


async def test_a_users_address_attached_elsewhere_is_reported_and_not_moved() -> None:
    world = Pools()
    theirs = world.foreigner("floating-ip", floating_ip_address="198.51.100.1")
    world = await served(world, preAllocatedFloatingIPs=["198.51.100.1"])
    assert world.told(kind=SERVERS, name="web")[0] == "Ready"
    other = world.foreigner("port", "other")
    calls = len(world.clouds.calls)
    world.clouds.become(theirs, "", port_id=other.id)
    await world.run(300)
    assert world.clouds.things["floating-ip", theirs.id].facts["port_id"] == other.id
    assert len(world.clouds.calls) == calls
    assert world.told(kind=SERVERS, name="web") == (
        "AddressInUse",
        f"Floating IP 198.51.100.1 is attached to port {other.id}, which does not belong to this server; "
        "detach it there, or delete IPAddressClaim web-floating-ip-address to claim another one",
    )  # fmt: skip
    world.delete(CLAIM, "web-floating-ip-address")
    await world.run(120)
    assert world.told(kind=SERVERS, name="web")[0] == "Ready"
    assert world.served() == {"web-floating-ip-address": world.ips()[0]}
    assert world.clouds.things["floating-ip", theirs.id].facts["port_id"] == other.id


async def test_a_deleted_pool_address_is_reported_by_both_and_another_can_be_claimed() -> None:
    world = await served()
    (ip,) = world.clouds.all("floating-ip")
    world.clouds.remove("floating-ip", ip.id)
    await world.run(300)
    stage = world.told("FloatingAddressFromPoolReady", SERVERS, "web")
    assert stage == world.told(kind=SERVERS, name="web")
    assert stage == ("DependencyFailed", "Floating IP 192.0.2.1 does not exist in this cloud")
    assert world.told_of()[0] == "BlockedResourceNotFound"
    world.delete(CLAIM, world.names(CLAIM)[0])
    await world.run(120)
    assert world.told(kind=SERVERS, name="web")[0] == world.told_of()[0] == "Ready"
    assert world.clouds.all("floating-ip")[0].facts["port_id"] == world.one("port", "web").id


async def test_a_deleted_free_address_of_a_pool_is_not_assigned() -> None:
    world: Pools = await served()
    world.delete(SERVERS, "web")
    await world.run(60)
    (ip,) = world.clouds.all("floating-ip")
    world.clouds.remove("floating-ip", ip.id)
    world.claim("a")
    await world.run(60)
    assert list(world.served().values()) == world.ips() != []
    assert ip.id not in {thing.id for thing in world.clouds.all()}
    assert world.told_of()[0] == "Ready"


# Clusters.


async def cluster(**spec: Any) -> Clusters:
    world = Clusters()
    world.make(tags=["t"], managedNetwork={"mtu": 1400}, **spec)
    await world.ready()
    return world


@pytest.mark.parametrize(
    ("what", "facts"),
    [
        ("network", {"name": "theirs", "tags": []}),
        ("network", {"mtu": 9000}),
        ("network", {"admin_state_up": False}),
        ("subnet", {"name": "theirs", "tags": []}),
        ("subnet", {"dns_nameservers": [], "gateway_ip": None}),
        ("router", {"name": "theirs", "tags": []}),
        ("router", {"admin_state_up": False}),
        ("port", {"name": "theirs", "tags": []}),
        ("security-group", {"name": "theirs", "tags": []}),
        ("floating-ip", {"tags": ["theirs"]}),
    ],
    ids=str,
)
async def test_foreign_changes_of_a_cluster_are_reverted(what: str, facts: dict[str, Any]) -> None:
    world = await cluster()
    before = world.status()
    if facts.get("tags"):
        facts = {"tags": []}
    await put_right(world, next(t for t in world.clouds.all(what) if t.mark), facts)
    assert world.told()[0] == "Ready"
    told = world.status()
    assert {**told, "conditions": [], "router": told["router"]} == {**before, "conditions": []}


async def test_a_rule_added_by_others_to_a_managed_group_is_removed_and_others_stay() -> None:
    world = await cluster()
    ours, theirs = world.one("security-group", "worker"), world.foreigner("security-group", "theirs")
    wanted = {thing.id for thing in world.clouds.all("security-group-rule")}
    let = {"direction": "ingress", "ethertype": "IPv4"}
    kept = world.foreigner("security-group-rule", security_group_id=theirs.id, **let)
    rule = world.clouds.put("security-group-rule", "", security_group_id=ours.id, **let)
    await world.run(300)
    assert {thing.id for thing in world.clouds.all("security-group-rule")} == {*wanted, kept.id}
    assert set_back(world) == [f"Restored the state of the spec: security-group-rule {rule.id} (removed)"]
    assert world.told()[0] == "Ready"


async def test_each_event_names_the_removed_rules_of_its_batch() -> None:
    world = await cluster()
    group = world.one("security-group", "worker").id
    wanted = {thing.id for thing in world.clouds.all("security-group-rule")}
    rules = {world.clouds.put("security-group-rule", "", security_group_id=group).id for _ in range(25)}
    await world.run(300)
    assert {thing.id for thing in world.clouds.all("security-group-rule")} == wanted
    told = [rules & set(message.split()) for message in set_back(world)]
    assert [len(ids) for ids in told] == [10, 10, 5]
    assert set.union(*told) == rules


async def test_a_router_interface_removed_by_others_is_added_again() -> None:
    world = await cluster()
    await put_right(world, world.one("port", "router"), {"device_id": ""}, told=False, by=world.one("router").id)


async def test_a_removed_external_gateway_of_a_router_is_restored() -> None:
    world = await cluster()
    world.clouds.edit(world.one("router"), external_gateway_info=None)
    await world.run(300)
    assert world.one("router").facts["external_gateway_info"]["network_id"] == world.external.id
    assert set_back(world) == ["Restored the state of the spec: router cluster (external_gateway_info)"]


async def test_a_restored_gateway_has_the_addresses_of_the_spec() -> None:
    world = Clusters()
    place = world.foreigner("subnet", "outside", network_id=world.external.id)
    world.make(managedRouter={"externalIPs": [{"subnet": {"id": place.id}, "fixedIP": "198.51.100.9"}]})
    await world.ready()
    assert world.status()["router"]["ips"] == ["198.51.100.9"]
    world.clouds.edit(world.one("router"), external_gateway_info=None)
    world.clouds.edit(world.one("port", "router"), device_id="")
    await world.run(120)
    gateway = world.one("router").facts["external_gateway_info"]
    assert gateway == {"network_id": world.external.id, "external_fixed_ips": [{"ip_address": "198.51.100.9"}]}
    assert world.status()["router"]["ips"] == ["198.51.100.9"]


LOST = [
    ("network", "", "NetworkReady"),
    ("subnet", "", "NetworkReady"),
    ("router", "", "RouterReady"),
    ("port", "router", "RouterReady"),
    ("security-group", "worker", "SecurityGroupsReady"),
]


@pytest.mark.parametrize(("what", "name", "stage"), LOST, ids=lambda each: str(each))
async def test_deleted_resources_of_a_cluster_are_reported_and_recreated_by_policy(
    what: str, name: str, stage: str
) -> None:
    world = await cluster()
    lost, calls = world.one(what, name), len(world.clouds.calls)
    taken = {"network": ("port", "subnet", "network"), "subnet": ("port", "subnet")}.get(what, (what,))
    for each in taken:  # Neutron requires it to be detached from the inside outwards
        world.clouds.remove(each, world.one(each, name).id)
    await world.run(600)
    assert world.told()[0] == "BlockedResourceNotFound"
    assert f"Another client deleted {what}" in world.told(stage)[1] and "recreatePolicy" in world.told()[1]
    assert not world.status()["ready"]
    assert len(world.clouds.calls) == calls
    world.make(tags=["t"], managedNetwork={"mtu": 1400}, recreatePolicy="Always")
    await world.run(300)
    assert world.told()[0] == "Ready"
    assert world.there() == NETWORK
    assert len(world.clouds.all("security-group-rule")) == 15
    assert lost.id not in str(world.status())


async def test_an_api_address_moved_by_others_is_moved_back() -> None:
    world = await cluster()
    world.machine(control_plane=True)
    await world.ready(MACHINES, "m")
    (ip,) = world.clouds.all("floating-ip")
    other = world.foreigner("port", "other", network_id=world.one("network").id)
    for port in (None, other.id):
        await put_right(world, ip, {"port_id": port}, told=False)


async def test_a_bastion_address_moved_by_others_is_moved_back() -> None:
    world = await cluster(bastion=BASTION)
    (ip,) = [ip for ip in world.clouds.all("floating-ip") if ip.facts["port_id"]]
    await put_right(world, ip, {"port_id": None}, told=False)
    assert world.told("BastionReady")[0] == "Done"


@pytest.mark.parametrize("what", ["server", "port", "floating-ip"])
async def test_deleted_resources_of_the_bastion_are_reported_by_the_cluster(what: str) -> None:
    world = await cluster(bastion=BASTION)
    wanted = {"server": world.one("server"), "port": world.one("port", "bastion")}
    led = next(ip for ip in world.clouds.all("floating-ip") if ip.facts["port_id"])
    world.clouds.remove(what, wanted.get(what, led).id)
    await world.run(300)
    reason = "BlockedInstanceNotFound" if what == "server" else "BlockedResourceNotFound"
    assert world.told()[0] == world.told("BastionReady")[0] == reason
    world.make(tags=["t"], managedNetwork={"mtu": 1400}, bastion=BASTION, recreatePolicy="Always")
    await world.run(300)
    assert world.told()[0] == "Ready"
    assert world.there() == GUARDED


async def test_a_deleted_object_of_the_bastion_is_recreated() -> None:
    world = await cluster(bastion=BASTION)
    before = world.one("server").id
    world.delete(SERVERS, "c-bastion")
    await world.run(120)
    assert world.told()[0] == "Ready"
    assert world.there() == GUARDED
    assert world.one("server").id != before


# Machines.


async def test_a_deleted_server_of_a_machine_is_reported_and_never_recreated() -> None:
    world = await cluster()
    world.machine()
    await world.ready(MACHINES, "m")
    before = world.status(MACHINES, "m")["instanceID"]
    world.clouds.remove("server", before)
    await world.run(300)
    for type_ in ("Ready", "InstanceReady"):
        assert world.told(type_, MACHINES, "m")[0] == "BlockedInstanceNotFound"
    status = world.status(MACHINES, "m")
    assert (status["ready"], status["instanceState"], status["initialization"]) == (
        False, "DELETED", {"provisioned": True},
    )  # fmt: skip
    assert not world.clouds.all("server")
    world.machine(recreatePolicy="Always")
    await world.run(300)
    assert world.told(kind=MACHINES, name="m")[0] == "BlockedInstanceNotFound"
    assert "delete the machine" in world.told(kind=MACHINES, name="m")[1]
    assert not world.clouds.all("server")
    assert (world.get(MACHINES, "m") or {})["spec"]["providerID"].endswith(before)


async def test_a_lost_port_does_not_cost_a_machine_its_server() -> None:
    world = await cluster()
    world.machine(recreatePolicy="Always")
    await world.ready(MACHINES, "m")
    before = world.one("server").id
    (port,) = [t for t in world.clouds.all("port") if t.name == "m-0"]
    world.clouds.remove("port", port.id)
    await world.run(300)
    assert world.told(kind=MACHINES, name="m")[0] == "BlockedResourceNotFound"
    assert world.one("server").id == before


async def test_a_recreation_of_a_server_object_survives_a_kill_at_every_write() -> None:
    async def start() -> Clusters:
        world = await cluster()
        world.machine(recreatePolicy="Always")
        await world.ready(MACHINES, "m")
        return world

    async def end(world: Clusters) -> None:
        await world.settle(patience=20)
        assert world.told(kind=MACHINES, name="m")[0] == "BlockedInstanceNotFound"
        assert not any(name in ("server m", "port m-0") for name in world.there())

    await killed_everywhere(start, lambda world: world.delete(SERVERS, "m"), end)
