"""An action that is refused forever stops only what depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM
from stackwright.core.errors import TerminalError
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.errors import Reason, TerminalCloudError
from stackwright.core.openstack.resources import CloudResource
from stackwright.core.plan import Apply, Delete, Key, Object
from tests.scenario.capi_world import (
    BASTION,
    CLUSTERS,
    IDENTITY,
    MACHINES,
    MANAGED,
    PART,
    SERVERS,
    Clusters,
    make_small,
)
from tests.scenario.pool_world import POOLS, Pools, pools, served
from tests.scenario.world import World

pytestmark = pytest.mark.looptime
LET = {"direction": "ingress", "ethertype": "IPv4"}
WEB = {"name": "web", "direction": "ingress", "protocol": "tcp", "portRangeMin": 80, "portRangeMax": 80}
POLICY = "HTTP 403: policy"


def refuse(world: World, start: str) -> list[str]:
    """Refuse all actions whose text begins so; returns those that are refused from now on."""
    refused: list[str] = []
    call, apply, delete = world.clouds._do, world.cluster.apply, world.cluster.delete

    def check(action: Any, error: Exception) -> None:
        if str(action).startswith(start):
            refused.append(str(action))
            raise error

    def do(asked: CloudCall) -> str:
        check(asked, TerminalCloudError(Reason.FORBIDDEN, POLICY))
        return call(asked)

    async def write(kind: Kind, obj: Object, manager: str) -> Object:
        check(Apply(kind, obj), TerminalError(POLICY))
        return await apply(kind, obj, manager)

    async def remove(kind: Kind, key: Key, uid: str = "") -> None:
        check(Delete(kind, key), TerminalError(POLICY))
        await delete(kind, key, uid)

    edits: Any = world.clouds, world.cluster
    edits[0]._do, edits[1].apply, edits[1].delete = do, write, remove
    return refused


def api_at(world: Clusters) -> str:
    """The port of the API's floating IP, by name."""
    address = world.clouds.things["floating-ip", world.status()["apiServerFloatingIP"]["id"]]
    return next((t.name for t in world.clouds.all("port") if t.id == address.facts["port_id"]), "")


async def manned() -> Clusters:
    """A cluster with a bastion and two control-plane machines; the API's address is at the first."""
    world = Clusters()
    groups = {**MANAGED["managedSecurityGroups"], "workerNodesSecurityGroupRules": [WEB]}
    world.make(bastion=BASTION, managedSecurityGroups=groups)
    await world.ready()
    for name in ("m1", "m2"):
        world.machine(name, control_plane=True)
        await world.run(90)
    assert api_at(world) == "m1-0"
    return world


def forget_endpoint(world: Clusters) -> None:
    spec = dict((world.get(CLUSTERS, "c") or {})["spec"])
    del spec["controlPlaneEndpoint"]
    world.write(CLUSTERS, "c", spec)


def add_rule(world: Clusters, group: str = "worker") -> str:
    return world.clouds.put(
        "security-group-rule", "", security_group_id=world.one("security-group", group).id, **LET
    ).id


def lose_bastion(world: Clusters) -> None:
    world.clouds.things.pop(("server", world.one("server", "bastion").id))
    world.cluster.remove(SERVERS, ("openstack", "c-bastion"))


def address_of_bastion(world: Clusters) -> CloudResource:
    port = world.one("port", "c-bastion").id
    return next(t for t in world.clouds.all("floating-ip") if t.facts["port_id"] == port)


def detach_router(world: Clusters) -> None:
    world.clouds.edit(world.one("port", "c-router"), device_id="")


def name_address(world: Clusters) -> None:
    """The user names the bastion's floating IP, so our mark is removed from it."""
    spec = dict((world.get(CLUSTERS, "c") or {})["spec"])
    world.write(CLUSTERS, "c", {**spec, "bastion": {**BASTION, "floatingIP": world.status()["bastion"]["floatingIP"]}})


# A change by a user or another client, and the action of the cluster that it makes due.
DUE: dict[str, tuple[Callable[[Clusters], Any], str]] = {
    "endpoint": (forget_endpoint, "apply OpenStackCluster"),
    "correction": (lambda w: w.clouds.edit(w.one("network", "c"), name="theirs"), "openstack update network"),
    "rule": (add_rule, "openstack delete security-group-rule"),
    "interface": (detach_router, "openstack update router"),
    "surplus": (lambda w: w.make(bastion=BASTION), "openstack delete security-group-rule"),
    "new bastion": (lose_bastion, "apply OpenStackServer openstack/c-bastion"),
    "changed bastion": (
        lambda w: w.make(bastion={**BASTION, "spec": {**PART, "recreatePolicy": "Always"}}),
        "apply OpenStackServer openstack/c-bastion",
    ),
    "other bastion": (
        lambda w: w.make(bastion={**BASTION, "spec": {**PART, "sshKeyName": "other"}}),
        "delete OpenStackServer openstack/c-bastion",
    ),
    "address of the bastion": (
        lambda w: w.clouds.edit(address_of_bastion(w), port_id=None),
        "openstack update floating-ip bastion",
    ),
    "named address of the bastion": (name_address, "openstack update floating-ip bastion"),
}


@pytest.mark.parametrize("name", DUE)
async def test_the_endpoint_fails_over_whatever_else_of_a_cluster_is_refused(name: str) -> None:
    world, (disturb, action) = await manned(), DUE[name]
    refused = refuse(world, action)
    disturb(world)
    await world.run(120)
    assert refused
    assert POLICY in world.told()[1], "the refusal is reported"
    world.delete(MACHINES, "m1")
    await world.run(200)
    assert api_at(world) == "m2-0"
    tries = len(refused)
    await world.run(600)
    assert 5 <= len(refused) - tries <= 30, "it is retried with backoff"


async def test_the_endpoint_fails_over_while_a_deleted_resource_blocks_the_cluster() -> None:
    world = await manned()
    world.clouds.things.pop(("router", world.one("router").id))
    await world.run(120)
    assert world.told()[0] == "BlockedResourceNotFound"
    world.delete(MACHINES, "m1")
    await world.run(200)
    assert api_at(world) == "m2-0"


async def test_a_refused_attachment_of_the_api_is_reported_by_its_stage() -> None:
    world = await manned()
    refused = refuse(world, "openstack update floating-ip api")
    world.delete(MACHINES, "m1")
    await world.run(200)
    assert refused
    assert api_at(world) != "m2-0"
    assert world.told("APIEndpointReady") == ("BlockedForbidden", POLICY)
    assert (world.told("BastionReady")[0], world.status()["ready"]) == ("Done", True)


def lose_rule_for_good(world: Clusters) -> None:
    refuse(world, "openstack create security-group-rule")
    rule = next(t for t in world.clouds.all("security-group-rule") if t.mark)
    world.clouds.remove("security-group-rule", rule.id)


def detach_router_for_good(world: Clusters) -> None:
    refuse(world, "openstack update router")
    detach_router(world)


# What keeps a cluster incomplete.
INCOMPLETE: dict[str, Callable[[Clusters], Any]] = {
    "lost address of the bastion": lambda w: w.clouds.remove("floating-ip", address_of_bastion(w).id),
    "lost router": lambda w: w.clouds.remove("router", w.one("router").id),
    "lost rule": lose_rule_for_good,
    "detached router": detach_router_for_good,
}


@pytest.mark.parametrize("name", INCOMPLETE)
async def test_an_attachment_that_succeeds_at_last_is_reported_while_a_cluster_is_incomplete(name: str) -> None:
    world = await manned()
    INCOMPLETE[name](world)
    await world.run(120)
    before, edits = world.told(), cast(Any, world.clouds)
    assert before[0].startswith("Blocked")
    allowed = edits._do
    refuse(world, "openstack update floating-ip api")
    world.delete(MACHINES, "m1")
    await world.run(200)
    assert world.told("APIEndpointReady") == ("BlockedForbidden", POLICY)
    edits._do = allowed
    await world.run(900)
    assert api_at(world) == "m2-0"
    assert world.told("APIEndpointReady") == ("Done", "")
    assert world.told() == before


async def test_a_refused_removal_that_succeeds_at_last_is_reported_while_the_router_is_detached() -> None:
    world = await manned()
    detach_router_for_good(world)
    await world.run(120)
    edits = cast(Any, world.clouds)
    allowed = edits._do
    refuse(world, "openstack delete security-group-rule")
    rule = add_rule(world)
    await world.run(120)
    assert world.told("SecurityGroupsReady") == ("BlockedForbidden", POLICY)
    edits._do = allowed
    await world.run(900)
    assert ("security-group-rule", rule) not in world.clouds.things
    assert world.told("SecurityGroupsReady") == ("Done", "")


async def test_a_refused_bastion_is_reported_by_its_stage_and_machines_start() -> None:
    world = Clusters()
    refuse(world, "apply OpenStackServer openstack/c-bastion")
    world.make(bastion=BASTION)
    await world.run(200)
    assert (world.told("BastionReady"), world.told()[1]) == (("BlockedRefused", POLICY), POLICY)
    assert world.told("APIEndpointReady")[0] == "Done"
    world.machine(control_plane=True)
    await world.ready(MACHINES, "m")
    await world.run(120)
    assert api_at(world) == "m-0"


async def test_a_foreign_rule_is_removed_although_a_correction_or_another_rule_is_refused() -> None:
    world = await manned()
    kept = add_rule(world)
    refuse(world, f"openstack delete security-group-rule {kept}")
    await world.run(120)
    world.clouds.edit(world.one("network", "c"), name="theirs")
    refuse(world, "openstack update network")
    bad = add_rule(world, "controlplane")
    await world.run(120)
    rules = {t.id for t in world.clouds.all("security-group-rule")}
    assert (kept in rules, bad in rules) == (True, False)


async def test_a_refused_correction_keeps_no_event_of_removed_rules() -> None:
    world = await manned()
    refuse(world, "openstack update network")
    world.clouds.edit(world.one("network", "c"), name="theirs")
    rule = add_rule(world)
    await world.run(120)
    told = [message for _, reason, message, _ in world.cluster.events if reason == "SetBack"]
    assert told == [f"Restored the state of the spec: security-group-rule {rule} (removed)"]


# Pools.

OTHER = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "other"}


async def test_a_claim_waits_for_an_address_of_another_pool_with_its_name() -> None:
    world = await pools()
    theirs = {"address": "10.1.1.1", "prefix": 24, "claimRef": {"name": "a"}, "poolRef": OTHER}
    world.write(ADDRESS, "a", theirs)
    for name in "abc":
        world.claim(name)
    await world.run(120)
    assert (world.get(ADDRESS, "a") or {})["spec"] == theirs
    assert {name: (world.get(ADDRESS, name) or {})["spec"]["address"] for name in "bc"} == {
        "b": "192.0.2.1",
        "c": "192.0.2.2",
    }
    text = "Waiting for an earlier IPAddress a of InClusterIPPool other to be deleted"
    assert world.told(kind=CLAIM, name="a") == world.told_of() == ("NameTaken", text)
    world.cluster.remove(ADDRESS, ("openstack", "a"))
    await world.run(60)
    assert sorted(world.served()) == ["a", "b", "c"]
    assert world.told_of()[0] == "Ready"


async def test_a_refused_address_of_one_claim_does_not_hold_back_others() -> None:
    world = await pools()
    refuse(world, "apply IPAddress openstack/a")
    for name in "abc":
        world.claim(name)
    await world.run(300)
    assert sorted(world.served()) == ["b", "c"]
    assert world.told_of() == ("BlockedRefused", POLICY)
    assert not (world.get(CLAIM, "a") or {}).get("status", {}).get("addressRef"), "it has no address"
    assert len(world.ips()) <= 3, "no address is created for each try"
    record = {each["id"] for each in world.status(POOLS, "p")["resources"]}
    assert record == {t.id for t in world.clouds.all("floating-ip")}, "all are on record"


async def test_a_claim_is_served_with_a_free_address_although_no_further_one_is_created() -> None:
    world = Pools()
    world.foreigner("floating-ip", floating_ip_address="198.51.100.1", floating_network_id=world.external.id)
    await pools(world, preAllocatedFloatingIPs=["198.51.100.1"])
    refused = refuse(world, "openstack create floating-ip")
    for name in "ab":
        world.claim(name)
    await world.run(120)
    assert refused
    assert world.served() == {"a": "198.51.100.1"}
    status = world.status(POOLS, "p")
    assert (status["claimedIPs"], status.get("availableIPs", [])) == (["198.51.100.1"], [])
    assert world.told("AddressesReady", POOLS, "p") == world.told_of() == ("BlockedForbidden", POLICY)
    world.delete(CLAIM, "a")
    await world.run(180)
    assert world.served() == {"b": "198.51.100.1"}
    assert (world.status(POOLS, "p")["claimedIPs"], world.told_of()) == (["198.51.100.1"], ("Ready", ""))


async def test_a_refused_deletion_of_one_resource_does_not_hold_back_those_of_others() -> None:
    world = await pools(reclaimPolicy="Delete")
    for name in "ab":
        world.claim(name)
    await world.run(60)
    first = world.status(POOLS, "p")["resources"][0]
    refuse(world, f"openstack delete floating-ip {first['name']} {first['id']}")
    for kind, name in ((CLAIM, "a"), (CLAIM, "b"), (POOLS, "p")):
        world.delete(kind, name)
    await world.run(120)
    assert [t.id for t in world.clouds.all("floating-ip")] == [first["id"]]
    assert world.told_of() == world.told("Deleted", POOLS, "p") == ("BlockedForbidden", POLICY)
    assert world.status(POOLS, "p")["resources"] == [first]


# Servers and machines.


@pytest.mark.parametrize(("action", "reason"), [
    ("apply IPAddressClaim", "BlockedRefused"),
    ("openstack update floating-ip", "BlockedForbidden"),
])  # fmt: skip
async def test_a_server_reports_its_state_although_its_address_of_a_pool_is_refused(action: str, reason: str) -> None:
    world = Pools()
    assert refuse(world, action) == []
    await served(world)
    status = world.status(SERVERS, "web")
    assert (status["instanceState"], bool(status["addresses"])) == ("ACTIVE", True)
    assert world.told("FloatingAddressFromPoolReady", SERVERS, "web") == (reason, POLICY)


async def test_a_server_gets_its_address_although_a_correction_is_refused() -> None:
    world = await served(Pools())
    refuse(world, "openstack update port")
    world.clouds.edit(world.one("port", "web"), name="theirs")
    world.clouds.edit(world.one("floating-ip"), port_id=None)
    await world.run(200)
    assert world.one("floating-ip").facts["port_id"]
    assert world.told("ResourcesReady", SERVERS, "web") == ("BlockedForbidden", POLICY)


async def test_a_machine_gets_its_id_although_a_change_of_its_server_is_refused() -> None:
    world = Clusters()
    world.make()
    await world.ready()
    world.machine()
    await world.run(3)
    refused = refuse(world, "apply OpenStackServer openstack/m")
    world.machine(identityRef={**IDENTITY, "name": "others"})
    await world.run(200)
    assert refused
    assert (world.get(MACHINES, "m") or {})["spec"]["providerID"]
    assert world.status(MACHINES, "m")["initialization"] == {"provisioned": True}
    assert world.told("InstanceReady", MACHINES, "m") == ("BlockedRefused", POLICY)


async def test_a_deleted_machine_leaves_although_a_change_of_its_server_is_refused() -> None:
    world = Clusters()
    await make_small(world)
    refused = refuse(world, "apply OpenStackServer openstack/m")
    world.machine(identityRef={**IDENTITY, "name": "others"})
    world.delete(MACHINES, "m")
    await world.run(200)
    assert refused
    assert not world.get(SERVERS, "m")
    assert not world.get(MACHINES, "m")


@pytest.mark.parametrize("leaves", [False, True], ids=["removed", "with its cluster"])
async def test_a_bastion_is_deleted_although_a_change_of_its_server_is_refused(leaves: bool) -> None:
    world = await manned()
    refused = refuse(world, "apply OpenStackServer openstack/c-bastion")
    others = {**IDENTITY, "name": "others"}
    if leaves:
        world.make(bastion=BASTION, identityRef=others)
        for kind, name in ((MACHINES, "m1"), (MACHINES, "m2"), (CLUSTERS, "c")):
            world.delete(kind, name)
    else:
        world.make(identityRef=others)
    await world.run(200)
    assert refused
    assert not world.get(SERVERS, "c-bastion")
    assert bool(world.get(CLUSTERS, "c")) is not leaves


@pytest.mark.parametrize("is_new", [True, False], ids=("new cluster", "bastion added later"))
async def test_a_bastion_without_floating_ip_holds_back_nothing_else(is_new: bool) -> None:
    world = Clusters()
    if not is_new:
        world.make()
        await world.ready()
    refused = refuse(world, "openstack create floating-ip bastion")
    world.make(bastion=BASTION)
    world.machine("m", control_plane=True)
    await world.run(300)
    assert refused
    assert world.told("APIEndpointReady") == ("Done", "")
    assert world.told("BastionReady") == world.told() == ("BlockedForbidden", POLICY)
    assert world.get(CLUSTERS, "c")["spec"]["controlPlaneEndpoint"]["host"]
    assert world.told(kind=MACHINES, name="m") == ("Ready", "")
    world.clouds.edit(world.one("network", "c"), name="theirs")
    await world.run(300)
    assert world.one("network", "c")


async def test_the_cause_at_the_api_is_named_while_the_bastion_gets_no_floating_ip() -> None:
    world = Clusters()
    port = world.foreigner("port", "x")
    taken = {"floating_ip_address": "198.51.100.9", "floating_network_id": world.external.id, "port_id": port.id}
    world.foreigner("floating-ip", **taken)
    refuse(world, "openstack create floating-ip bastion")
    world.make(bastion=BASTION, apiServer={"floatingIP": "198.51.100.9"})
    await world.run(300)
    assert world.told("APIEndpointReady")[0] == "AddressInUse"


async def test_a_removed_rule_is_deleted_although_the_bastion_gets_no_floating_ip() -> None:
    world = Clusters()
    groups = MANAGED["managedSecurityGroups"]
    world.make(managedSecurityGroups={**groups, "workerNodesSecurityGroupRules": [WEB]})
    await world.ready()
    assert any(t.facts.get("port_range_min") == 80 for t in world.clouds.all("security-group-rule"))
    refuse(world, "openstack create floating-ip bastion")
    world.make(bastion=BASTION, managedSecurityGroups=groups)
    await world.run(300)
    assert not any(t.facts.get("port_range_min") == 80 for t in world.clouds.all("security-group-rule"))
    assert world.told("BastionReady") == ("BlockedForbidden", POLICY)
