"""Pools of floating IPs, and servers that use one, during faults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM
from stackwright.core.openstack.errors import TransientCloudError
from tests.scenario.capi_world import IDENTITY, SERVERS, killed_everywhere, lost_everywhere, unheard_everywhere
from tests.scenario.faulty_clouds import TROUBLES
from tests.scenario.pool_world import POOLS, Pools, gone, pools, served

pytestmark = pytest.mark.looptime
EVERYWHERE = pytest.mark.parametrize("everywhere", [lost_everywhere, unheard_everywhere], ids=["lost", "killed"])


async def used(**spec: str) -> Pools:
    """Two claims, each with an address."""
    world = await pools(**spec)
    for name in "ab":
        world.claim(name)
    await world.run(30)
    assert len(world.served()) == 2
    return world


def give_back(world: Pools) -> None:
    for name in "ab":
        world.delete(CLAIM, name)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.reason)
async def test_each_wrong_response_is_reported_without_a_hot_loop(trouble: TransientCloudError) -> None:
    world = Pools()
    world.pool(reclaimPolicy="Delete")
    world.claim("a")

    async def refused(where: str) -> None:
        world.clouds.fail = {where: trouble}
        await world.run(60)
        before = world.clouds.asked
        await world.run(240)
        assert world.told_of()[0] == trouble.reason, where
        assert str(trouble) in world.told_of()[1]
        assert 2 < world.clouds.asked - before < 90, where
        world.clouds.fail = {}

    for where in ("look", "find", "create floating-ip"):
        await refused(where)
    await world.run(90)
    assert list(world.served()) == ["a"]
    world.delete(CLAIM, "a")
    await refused("delete floating-ip")
    world.delete(POOLS, "p")
    for where in ("look", "delete floating-ip"):
        await refused(where)
    await world.run(90)
    assert not world.get(POOLS, "p")
    assert world.ips() == []


async def test_a_slow_cloud_gets_no_more_requests_than_a_fast_one() -> None:
    world = Pools()
    world.clouds.slow = 20
    world.pool(reclaimPolicy="Delete")
    world.claim("a")
    await world.run(600)
    assert len(world.ips()) == len(world.served()) == 1
    assert world.clouds.asked < 50
    world.delete(CLAIM, "a")
    world.delete(POOLS, "p")
    await world.run(600)
    assert not world.get(POOLS, "p")
    assert [call.do for call in world.clouds.calls] == ["create", "delete"]


@EVERYWHERE
async def test_a_late_create_request_creates_no_duplicate(everywhere: Any) -> None:
    async def start() -> Pools:
        return Pools()

    def act(world: Pools) -> None:
        world.pool()
        for name in "abc":
            world.claim(name)

    async def end(world: Pools) -> None:
        await world.run(90)
        assert len(set(world.served().values())) == len(world.ips()) == 3
        assert not world.clouds.made_twice

    await everywhere(start, act, end, seconds=60)


@EVERYWHERE
async def test_a_late_delete_request_leaves_no_resources(everywhere: Any) -> None:
    async def start() -> Pools:
        return await used(reclaimPolicy="Delete")

    def act(world: Pools) -> None:
        give_back(world)
        world.delete(POOLS, "p")

    await everywhere(start, act, gone, seconds=60)


async def test_without_its_record_all_is_found_by_its_marks() -> None:
    world = await used(reclaimPolicy="Delete")
    await world.stop()
    before = world.served()
    world.cluster.put(POOLS, {name: value for name, value in (world.get(POOLS, "p") or {}).items() if name != "status"})
    world.claim("c")
    await world.run(60)
    assert {name: address for name, address in world.served().items() if name != "c"} == before
    assert sorted(world.served().values()) == world.ips()
    assert len(world.ips()) == 3


async def test_an_address_that_the_spec_names_later_becomes_the_users() -> None:
    world = await used(reclaimPolicy="Delete")
    mine = world.served()["a"]
    world.pool(reclaimPolicy="Delete", preAllocatedFloatingIPs=[mine])
    give_back(world)
    await world.run(60)
    assert world.ips() == [mine]
    assert world.status(POOLS, "p")["availableIPs"] == [mine]
    world.delete(POOLS, "p")
    await world.run(60)
    assert not world.get(POOLS, "p")
    assert world.ips() == [mine]


async def test_lost_credentials_block_the_deletion_of_a_pool_until_it_may_detach() -> None:
    world = await used(reclaimPolicy="Delete")
    before = world.ips()
    world.clouds.locked = {"clouds"}
    give_back(world)
    world.delete(POOLS, "p")
    await world.run(120)
    assert world.told_of()[0] == "CredentialsMissing"
    assert "or set spec.reclaimPolicy to Retain" in world.told_of()[1]
    world.pool(reclaimPolicy="Retain")
    await world.run(30)
    assert not world.get(POOLS, "p")
    assert world.ips() == before
    (told,) = [message for _, reason, message, _ in world.cluster.events if reason == "LeftBehind"]
    assert all(ip.id in told for ip in world.clouds.all("floating-ip"))


async def test_a_restored_pool_that_is_deleted_names_unrecorded_leftovers_too() -> None:
    world = await pools()
    world.claim("a")
    await world.run(60)
    (own,) = world.clouds.all("floating-ip")
    for number in range(69):
        more = world.foreigner("floating-ip", floating_ip_address=f"198.51.100.{number}")
        world.clouds.things["floating-ip", more.id] = replace(more, mark=own.mark)
    world.delete(CLAIM, "a")
    world.delete(POOLS, "p")
    await world.run(30)
    assert not world.get(POOLS, "p")
    left = world.clouds.all("floating-ip")
    assert len(left) >= 60
    (told,) = [message for _, reason, message, _ in world.cluster.events if reason == "LeftBehind"]
    shown, rest = told.split(" and ")
    assert sum(ip.id in shown for ip in left) == 20
    assert rest == f"{len(left) - 20} more; the description of each has {own.mark.rpartition(':')[0]}"
    assert len(told) <= 1024, "the room of an Event"


async def test_other_credentials_may_be_named_and_are_used_from_then_on() -> None:
    world = await used(reclaimPolicy="Delete")
    calls = len(world.clouds.calls)
    world.clouds.locked = {"clouds"}
    give_back(world)
    await world.run(60)
    assert world.told_of()[0] == "CredentialsMissing"
    world.pool(reclaimPolicy="Delete", identityRef={**IDENTITY, "name": "others"})
    await world.run(60)
    assert world.told_of()[0] == "Ready"
    assert world.ips() == []
    assert {call.cloud.secret[1] for call in world.clouds.calls[calls:]} == {"others"}


async def test_a_pool_without_credentials_from_the_start_is_deleted_at_once() -> None:
    world = Pools()
    world.clouds.locked = {"clouds"}
    world.pool(reclaimPolicy="Delete")
    await world.run(60)
    assert world.told_of()[0] == "CredentialsMissing"
    world.delete(POOLS, "p")
    await world.run(5)
    assert not world.get(POOLS, "p")


# A server with an address of a pool.


async def one_each(world: Pools) -> None:
    await world.run(150)
    assert world.told(kind=SERVERS, name="web")[0] == "Ready"
    assert list(world.served().values()) == world.ips()
    (ip,) = world.clouds.all("floating-ip")
    assert ip.facts["port_id"] == world.one("port", "web").id


async def test_a_kill_at_every_write_leaves_a_server_with_one_address() -> None:
    async def start() -> Pools:
        world = await served()
        world.delete(SERVERS, "web")
        await world.run(60)
        world.pool("p", reclaimPolicy="Delete")
        await world.run(30)
        assert world.ips() == []
        return world

    await killed_everywhere(start, lambda world: world.server(), one_each, seconds=120)


async def test_an_address_is_returned_despite_a_kill_at_every_write_of_the_servers_deletion() -> None:
    async def start() -> Pools:
        return await served(reclaimPolicy="Delete")

    async def end(world: Pools) -> None:
        await world.run(90)
        assert not world.get(SERVERS, "web") and not world.names(CLAIM) and not world.names(ADDRESS)
        assert world.there() == []

    await killed_everywhere(start, lambda world: world.delete(SERVERS, "web"), end, seconds=60)


OWN = {"apiGroup": POOLS.group, "kind": POOLS.kind}
OTHERS = {
    "pool": {**OWN, "name": "old"},
    "kind": {**OWN, "kind": "FloatingPool", "name": "p"},
    "group": {**OWN, "apiGroup": "ipam.cluster.x-k8s.io", "name": "p"},
}


@pytest.mark.parametrize("exists", [True, False], ids=["in this cloud", "elsewhere"])
@pytest.mark.parametrize("other", OTHERS)
async def test_a_server_waits_while_an_address_of_another_pool_has_the_name_of_its_claim(
    other: str, exists: bool
) -> None:
    world, name = Pools(), "web-floating-ip-address"
    if exists:
        world.foreigner("floating-ip", floating_ip_address="198.51.100.9", floating_network_id=world.external.id)
    theirs = {"address": "198.51.100.9", "prefix": 32, "claimRef": {"name": name}, "poolRef": OTHERS[other]}
    world.write(ADDRESS, name, theirs)
    await served(world)
    whose = f"{OTHERS[other]['kind']} {OTHERS[other]['name']}"
    cause = f"Waiting for an earlier IPAddress {name} of {whose} to be deleted"
    assert world.told(kind=CLAIM, name=name) == ("NameTaken", cause)
    told = "NameTaken", f"Waiting for pool p to serve IPAddressClaim {name}: {cause}"
    assert world.told("FloatingAddressFromPoolReady", SERVERS, "web") == told
    assert not any(thing.facts.get("port_id") for thing in world.clouds.all("floating-ip"))
    world.cluster.remove(ADDRESS, ("openstack", name))
    await world.run(120)
    port = world.one("port", "web").id
    at_port = [
        t.facts["floating_ip_address"] for t in world.clouds.all("floating-ip") if t.facts.get("port_id") == port
    ]
    assert at_port == [world.served()[name]] == world.ips()
    assert world.told("FloatingAddressFromPoolReady", SERVERS, "web")[0] == "Done"


async def test_a_server_attaches_no_address_of_another_claim() -> None:
    world, name = await pools(), "web-floating-ip-address"
    world.foreigner("floating-ip", floating_ip_address="198.51.100.9", floating_network_id=world.external.id)
    theirs = {"address": "198.51.100.9", "prefix": 32, "claimRef": {"name": "other"}, "poolRef": {**OWN, "name": "p"}}
    world.write(ADDRESS, name, theirs)
    await served(world)
    assert not any(t.facts.get("port_id") for t in world.clouds.all("floating-ip") if t.id in world.foreign)
