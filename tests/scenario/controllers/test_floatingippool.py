"""Pools of floating IPs: claims are served and released, and never share an address; servers with a pool's address."""

from __future__ import annotations

import pytest

from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, CLUSTER, NAME
from stackwright.core.openstack.clouds import Query
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource
from stackwright.core.plan import Object
from tests.scenario.capi_world import SERVERS, killed_everywhere
from tests.scenario.pool_world import POOLS, Pools, gone, pools, served

pytestmark = pytest.mark.looptime


async def test_each_claim_gets_its_own_address() -> None:
    world = await pools()
    assert (world.told_of()[0], world.ips()) == ("Ready", [])
    for number in range(5):
        world.claim(f"c-{number}")
    await world.run(30)
    found = world.served()
    assert sorted(found.values()) == world.ips()
    assert len(set(found.values())) == 5
    status = world.status(POOLS, "p")
    assert (status["claimedIPs"], status.get("availableIPs", [])) == (world.ips(), [])
    assert status["floatingIPNetwork"]["id"] == world.external.id
    address = world.get(ADDRESS, "c-0") or {}
    assert (address["spec"]["prefix"], address["spec"]["claimRef"]) == (32, {"name": "c-0"})
    owners = {owner["kind"]: owner["controller"] for owner in address["metadata"]["ownerReferences"]}
    assert owners == {"IPAddressClaim": True, "OpenStackFloatingIPPool": False}


async def test_users_addresses_are_assigned_first_and_never_deleted() -> None:
    world = Pools()
    theirs = world.foreigner("floating-ip", floating_ip_address="198.51.100.1")
    world.pool(preAllocatedFloatingIPs=["198.51.100.1", "198.51.100.2"], reclaimPolicy="Delete")
    world.claim("a")
    await world.run(30)
    world.claim("b")
    await world.run(30)
    assert world.served() == {"a": "198.51.100.1", "b": world.ips()[0]}
    assert world.status(POOLS, "p")["failedIPs"] == ["198.51.100.2"]
    for name in "ab":
        world.delete(CLAIM, name)
    await world.run(30)
    assert (world.ips(), world.status(POOLS, "p")["availableIPs"]) == ([], ["198.51.100.1"])
    world.delete(POOLS, "p")
    await world.run(30)
    assert not world.get(POOLS, "p")
    assert ("floating-ip", theirs.id) in world.clouds.things


async def test_a_users_address_in_use_is_not_assigned() -> None:
    world = Pools()
    port = world.foreigner("port", "theirs")
    theirs = world.foreigner("floating-ip", floating_ip_address="198.51.100.1", port_id=port.id)
    world.pool(preAllocatedFloatingIPs=["198.51.100.1"], reclaimPolicy="Delete")
    world.claim("a")
    await world.run(30)
    assert list(world.served().values()) == world.ips()
    assert len(world.ips()) == 1, "and it is not the user's"
    status = world.status(POOLS, "p")
    assert (status["failedIPs"], status.get("availableIPs", [])) == (["198.51.100.1"], [])
    text = f"Floating IP 198.51.100.1 of spec.preAllocatedFloatingIPs is not used: port {port.id} uses it"
    assert world.told("AddressesReady", POOLS, "p") == ("Done", text)
    assert world.told_of()[0] == "Ready"
    world.delete(CLAIM, "a")
    await world.run(30)
    assert world.clouds.things["floating-ip", theirs.id].facts["port_id"] == port.id
    world.clouds.become(theirs, "", port_id=None)
    world.claim("b")
    await world.run(30)
    assert world.served() == {"b": "198.51.100.1"}
    assert not world.status(POOLS, "p").get("failedIPs")


async def test_pools_that_share_a_users_address_assign_it_to_one_claim() -> None:
    world = Pools()
    world.foreigner("floating-ip", floating_ip_address="198.51.100.1")
    for name in "pq":
        world.pool(name, preAllocatedFloatingIPs=["198.51.100.1"])
        world.claim(f"of-{name}", name)
        await world.run(30)
    assert world.served() == {"of-p": "198.51.100.1", "of-q": world.ips()[0]}
    world.delete(CLAIM, "of-p")
    await world.run(30)
    world.claim("next", "p")
    await world.run(30)
    assert world.served()["next"] == "198.51.100.1"


@pytest.mark.parametrize("slow", [0, 0.5, 2])
async def test_pools_that_share_a_users_address_assign_it_to_one_of_concurrent_claims(slow: float) -> None:
    world = Pools()
    world.clouds.slow = slow
    world.foreigner("floating-ip", floating_ip_address="198.51.100.1")
    for name in "pq":
        world.pool(name, preAllocatedFloatingIPs=["198.51.100.1"])
        world.claim(f"of-{name}", name)
    await world.run(60)
    assert world.served() == {"of-p": "198.51.100.1", "of-q": world.ips()[0]}
    assert len(world.ips()) == 1
    assert {world.told_of(name)[0] for name in "pq"} == {"Ready"}


async def test_of_two_claims_with_one_address_the_one_whose_server_has_it_keeps_it() -> None:
    world = await served(reclaimPolicy="Delete")
    (ip,) = world.ips()
    world.pool("q", preAllocatedFloatingIPs=[ip])
    world.claim("a-older", "q")
    await world.run(30)
    theirs, own = world.get(ADDRESS, "a-older") or {}, world.get(ADDRESS, "web-floating-ip-address") or {}
    world.delete(ADDRESS, "web-floating-ip-address")  # it is recreated and therefore younger
    meta = {name: own["metadata"][name] for name in ("name", "namespace", "labels", "annotations", "ownerReferences")}
    world.cluster.put(ADDRESS, {"metadata": meta, "spec": own["spec"]})
    world.cluster.put(ADDRESS, {**theirs, "spec": {**theirs["spec"], "address": ip}})
    await world.run(120)
    assert world.served()["web-floating-ip-address"] == ip
    assert world.told(kind=SERVERS, name="web")[0] == "Ready"


async def test_a_deleted_pool_keeps_addresses_of_ports() -> None:
    world = await pools(reclaimPolicy="Delete")
    world.claim("a")
    await world.run(30)
    ip, port = world.one("floating-ip"), world.foreigner("port", "theirs")
    address = ip.facts["floating_ip_address"]
    world.clouds.become(ip, "", port_id=port.id)
    world.delete(CLAIM, "a")
    world.delete(POOLS, "p")
    await world.run(60)
    assert world.told_of() == (
        "InUse", f"Not deleted: floating IP {address} is attached to port {port.id}; detach it, or set "
        "spec.reclaimPolicy to Retain",
    )  # fmt: skip
    assert world.clouds.things["floating-ip", ip.id].facts["port_id"] == port.id
    world.clouds.become(ip, "", port_id=None)
    await world.run(60)
    assert not world.get(POOLS, "p")
    assert world.ips() == []


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
async def test_an_address_attached_elsewhere_outlives_its_claim(policy: str) -> None:
    world = await pools(reclaimPolicy=policy)
    world.claim("a")
    await world.run(30)
    ip, port = world.one("floating-ip"), world.foreigner("port", "theirs")
    world.clouds.become(ip, "", port_id=port.id)
    world.delete(CLAIM, "a")
    world.claim("b")
    await world.run(60)
    assert world.clouds.things["floating-ip", ip.id].facts["port_id"] == port.id
    assert world.served()["b"] != ip.facts["floating_ip_address"]
    assert len(world.ips()) == 2


async def test_no_more_than_its_most_is_claimed_and_the_oldest_claim_is_served_first() -> None:
    world = await pools(maxIPs=1)
    world.claim("first")
    await world.run(30)
    world.claim("second")
    await world.run(30)
    assert list(world.served()) == ["first"]
    assert world.told_of()[0] == "MaxIPsReached"
    assert "second" in world.told_of()[1]
    world.delete(CLAIM, "first")
    await world.run(60)
    assert list(world.served()) == ["second"]
    assert len(world.ips()) == 1


@pytest.mark.parametrize(("policy", "left"), [("Delete", 0), ("Retain", 1)])
async def test_a_returned_address_is_deleted_or_reused_by_the_pools_policy(policy: str, left: int) -> None:
    world = await pools(reclaimPolicy=policy)
    world.claim("a")
    await world.run(30)
    before = world.ips()
    world.delete(CLAIM, "a")
    await world.run(30)
    assert len(world.ips()) == left
    world.claim("b")
    await world.run(30)
    assert list(world.served()) == ["b"]
    assert policy == "Delete" or list(world.served().values()) == before
    world.delete(CLAIM, "b")
    await world.run(30)
    world.delete(POOLS, "p")
    await world.run(30)
    assert not world.get(POOLS, "p")
    assert len(world.ips()) == left


async def test_a_pool_in_use_is_kept() -> None:
    world = await pools(reclaimPolicy="Delete")
    world.claim("a")
    await world.run(30)
    world.delete(POOLS, "p")
    await world.run(30)
    assert world.told_of() == ("InUse", "Waiting for IPAddressClaim a to be deleted")
    world.delete(CLAIM, "a")
    await world.run(30)
    assert not world.get(POOLS, "p")
    assert world.ips() == []


async def test_pools_of_the_same_name_share_nothing() -> None:
    world = await pools()
    world.claim("a")
    await world.run(30)
    before = world.ips()
    world.delete(CLAIM, "a")
    world.delete(POOLS, "p")
    await world.run(30)
    world.pool(reclaimPolicy="Delete")
    world.claim("b")
    await world.run(30)
    assert world.served()["b"] not in before
    world.delete(CLAIM, "b")
    world.delete(POOLS, "p")
    await world.run(60)
    assert world.ips() == before, "they are the earlier pool's"


async def test_without_cluster_api_a_pool_reports_the_missing_kinds() -> None:
    world = Pools(core=False)
    world.pool()
    await world.run(30)
    assert world.told_of() == (
        "KindMissing", "IPAddressClaim of ipam.cluster.x-k8s.io is not installed; Cluster API installs it",
    )  # fmt: skip
    world.cluster.unserved = set()
    world.claim("a")
    await world.run(60)
    assert list(world.served()) == ["a"]


async def test_an_address_deleted_by_others_is_reported_and_not_assigned() -> None:
    world = await pools()
    world.claim("a")
    await world.run(30)
    gone = world.served()["a"]
    world.clouds.remove("floating-ip", world.one("floating-ip").id)
    await world.run(60)
    assert world.told_of()[0] == "BlockedResourceNotFound"
    assert world.status(POOLS, "p")["failedIPs"] == [gone]
    world.delete(CLAIM, "a")
    await world.run(30)
    assert world.told_of()[0] == "Ready"


async def test_a_rejected_address_is_reported() -> None:
    world = await pools()
    world.clouds.fail["create floating-ip"] = TransientCloudError("QuotaExceeded", "no room", 30)
    world.claim("a")
    await world.run(60)
    assert world.told_of() == ("QuotaExceeded", "no room")
    world.clouds.fail.clear()
    await world.run(60)
    assert list(world.served()) == ["a"]


async def test_at_rest_nothing_is_written() -> None:
    world = await pools()
    world.claim("a")
    await world.run(60)
    writes = len(world.cluster.writes)
    await world.run(600)
    assert len(world.cluster.writes) == writes


async def test_a_kill_at_every_write_leaves_each_claim_with_one_address() -> None:
    async def end(world: Pools) -> None:
        await world.run(90)
        assert len(set(world.served().values())) == 3
        assert len(world.ips()) == 2, "one is the user's"

    async def start() -> Pools:
        world = Pools()
        world.foreigner("floating-ip", floating_ip_address="198.51.100.1")
        return world

    def act(world: Pools) -> None:
        world.pool(preAllocatedFloatingIPs=["198.51.100.1"], reclaimPolicy="Delete")
        for name in "abc":
            world.claim(name)

    await killed_everywhere(start, act, end, seconds=60)


async def test_a_pool_deletion_killed_at_every_write_leaves_no_resources() -> None:
    async def start() -> Pools:
        world = await pools(reclaimPolicy="Delete")
        for name in "ab":
            world.claim(name)
        await world.run(30)
        return world

    def act(world: Pools) -> None:
        for kind, name in ((CLAIM, "a"), (CLAIM, "b"), (POOLS, "p")):
            world.delete(kind, name)

    await killed_everywhere(start, act, gone, seconds=60)


async def test_claims_of_a_paused_cluster_are_neither_served_nor_released() -> None:
    """`clusterctl move` pauses the Cluster, copies its claims and addresses, and deletes them here."""
    world = await pools(reclaimPolicy="Delete")
    for name in ("a", "b"):
        if name == "b":
            world.write(CLUSTER, "top", {"paused": True})
        reference = {"apiGroup": POOLS.group, "kind": POOLS.kind, "name": "p"}
        world.write(CLAIM, name, {"poolRef": reference}, labels={NAME: "top"})
        await world.run(30)
    before, served_before = world.ips(), list(world.served())
    assert (len(before), served_before) == (1, ["a"])
    world.delete(CLAIM, "a")
    await world.run(60)
    assert world.names(ADDRESS) and world.ips() == before
    world.write(CLUSTER, "top", {"paused": False})
    await world.run(60)
    assert list(world.served()) == ["b"]
    assert len(world.ips()) == 1


# Servers.


async def test_a_server_gets_an_address_of_a_pool_and_returns_it() -> None:
    world = await served(reclaimPolicy="Delete")
    assert world.told(kind=SERVERS, name="web")[0] == "Ready"
    assert world.told("FloatingAddressFromPoolReady", SERVERS, "web")[0] == "Done"
    (ip,) = world.clouds.all("floating-ip")
    assert ip.facts["port_id"] == world.one("port", "web").id
    assert world.served() == {"web-floating-ip-address": ip.facts["floating_ip_address"]}
    writes = len(world.cluster.writes)
    await world.run(300)
    assert len(world.cluster.writes) == writes
    world.delete(SERVERS, "web")
    await world.run(60)
    assert not world.get(SERVERS, "web") and not world.names(CLAIM) and not world.names(ADDRESS)
    assert world.there() == []


async def test_a_search_that_misses_the_address_does_not_make_its_server_unready() -> None:
    world = await served()
    found, asked = world.clouds.find, list[Query]()

    async def short(cloud: CloudRef, question: Query) -> tuple[CloudResource, ...]:
        asked.append(question)
        return () if question.type == "floating-ip" else await found(cloud, question)

    world.clouds.find = short  # type: ignore[method-assign]
    await world.run(90)
    assert [question for question in asked if question.type == "floating-ip"]
    assert world.told("FloatingAddressFromPoolReady", SERVERS, "web")[0] == "Done"
    assert world.status(SERVERS, "web")["ready"]


async def test_a_retained_address_is_assigned_to_the_next_server() -> None:
    world = await served()
    (ip,) = world.ips()
    world.delete(SERVERS, "web")
    await world.run(60)
    world.server("next")
    await world.run(90)
    assert world.served() == {"next-floating-ip-address": ip}
    assert world.clouds.all("floating-ip")[0].facts["port_id"] == world.one("port", "next").id


async def test_a_server_reports_that_it_waits_for_its_pool() -> None:
    world = await served(maxIPs=0)
    assert world.told("FloatingAddressFromPoolReady", SERVERS, "web") == (
        "MaxIPsReached", "Waiting for pool p to serve IPAddressClaim web-floating-ip-address: All addresses that "
        "spec.maxIPs of OpenStackFloatingIPPool p allows (0) are claimed",
    )  # fmt: skip
    assert not world.status(SERVERS, "web")["ready"]
    assert world.told("InstanceReady", SERVERS, "web")[0] == "Done"
    obj: Object = world.get(POOLS, "p") or {}
    world.cluster.put(POOLS, {**obj, "spec": {**obj["spec"], "maxIPs": 1}})
    await world.run(60)
    assert world.status(SERVERS, "web")["ready"]


async def test_without_cluster_api_a_server_reports_the_missing_kinds() -> None:
    world = Pools(core=False)
    world.foreigner("network", "inside")
    world.server()
    await world.run(60)
    reason, message = world.told(kind=SERVERS, name="web")
    assert reason == "KindMissing"
    assert "ipaddressclaims" in message


@pytest.mark.parametrize("leaves", [False, True])
async def test_an_address_without_a_reference_to_its_claim_is_released(leaves: bool) -> None:
    """Kubernetes removes references to deleted owners from objects with another owner."""
    world = await pools(reclaimPolicy="Delete")
    world.claim("a")
    await world.run(30)
    (address,) = world.cluster.all(ADDRESS)
    owners = [each for each in address["metadata"]["ownerReferences"] if each["kind"] != CLAIM.kind]
    assert len(owners) == 1
    world.cluster.put(ADDRESS, {**address, "metadata": {**address["metadata"], "ownerReferences": owners}})
    world.delete(CLAIM, "a")
    if leaves:
        world.delete(POOLS, "p")
    await world.run(60)
    assert world.ips() == []
    assert not world.cluster.all(ADDRESS)
    assert bool(world.get(POOLS, "p")) is not leaves
