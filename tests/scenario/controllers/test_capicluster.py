"""The lifecycle of an OpenStackCluster: created, changed, lost and deleted, with a crash at every write."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.controllers.infra.clusterapi import CLUSTER, MANAGED_BY, NAME
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudResource
from stackwright.core.pausing import CLUSTER_API
from stackwright.core.plan import Object
from tests.scenario.capi_world import (
    BASTION,
    CLUSTERS,
    GUARDED,
    IDENTITY,
    MACHINES,
    MANAGED,
    NETWORK,
    PART,
    SERVERS,
    Clusters,
    killed_everywhere,
)
from tests.scenario.world import NAMESPACE

pytestmark = pytest.mark.looptime
STAGES = ("NetworkReady", "RouterReady", "SecurityGroupsReady", "APIEndpointReady", "BastionReady")


async def made(**spec: Any) -> Clusters:
    world = Clusters()
    world.make(**spec)
    await world.ready()
    return world


async def guarded(**spec: Any) -> Clusters:
    return await made(bastion=BASTION, **spec)


def bastion(world: Clusters) -> Object:
    return dict(world.status().get("bastion") or {})


def address(world: Clusters, id_: str) -> CloudResource:
    return world.clouds.things["floating-ip", id_]


# The created resources.


async def test_a_network_with_a_way_out_groups_and_an_address_for_the_api() -> None:
    assert "mtu" not in (await made(networkMTU=0)).one("network").facts
    world = await made(tags=["t"], managedNetwork={"mtu": 1400, "enablePortSecurity": False})
    assert world.there() == NETWORK
    status = world.status()
    network, subnet, router = (world.one(what) for what in ("network", "subnet", "router"))
    assert status["ready"] and status["initialization"] == {"provisioned": True}
    assert status["network"]["id"] == network.id
    assert [each["cidr"] for each in status["network"]["subnets"]] == ["10.6.0.0/24"]
    assert (status["router"]["id"], status["externalNetwork"]["id"]) == (router.id, world.external.id)
    assert (network.facts["mtu"], network.facts["port_security_enabled"], network.facts["tags"]) == (1400, False, ["t"])
    assert (subnet.facts["gateway_ip"], subnet.facts["dns_nameservers"]) == ("10.6.0.1", ["10.0.0.2"])
    assert router.facts["external_gateway_info"]["network_id"] == world.external.id
    port = world.one("port", "router")
    assert (port.facts["device_id"], port.facts["fixed_ips"][0]["ip_address"]) == (router.id, "10.6.0.1")
    assert {world.told(stage)[0] for stage in STAGES} == {"Done", "NotWanted"}


async def test_the_endpoint_is_written_for_cluster_api_and_the_users_one_is_kept() -> None:
    world = await made()
    found = world.get(CLUSTERS, "c")["spec"]["controlPlaneEndpoint"]  # type: ignore[index]
    assert found == {"host": world.status()["apiServerFloatingIP"]["address"], "port": 6443}
    other = await made(controlPlaneEndpoint={"host": "api.example.org", "port": 443})
    assert other.status()["controlPlaneEndpoint"] == {"host": "api.example.org", "port": 443}
    assert "ingress IPv4 tcp 443-443 anywhere" in other.rules("controlplane")


async def test_without_an_external_network_the_api_needs_an_address_in_the_spec() -> None:
    spec: Object = {"enableExternalNetwork": False, "apiServer": {"enableFloatingIP": False}}
    world = Clusters()
    world.make(**spec)
    await world.run(60)
    assert world.told()[0] == "BlockedNoEndpoint"
    assert not world.status()["ready"]
    assert [name.split()[0] for name in world.there()] == ["network", "security-group", "security-group", "subnet"]
    world.make(**{**spec, "apiServer": {"enableFloatingIP": False, "fixedIP": "10.6.0.9", "port": 8443}})
    await world.ready()
    assert world.status()["controlPlaneEndpoint"] == {"host": "10.6.0.9", "port": 8443}


async def test_an_existing_network_is_found_and_kept() -> None:
    world = Clusters()
    network = world.foreigner("network", "theirs")
    one, two = (world.foreigner("subnet", name, network_id=network.id, cidr=f"10.{name}.0.0/24") for name in "12")
    spec = {"identityRef": IDENTITY, "network": {"filter": {"name": "theirs"}}}
    world.write(CLUSTERS, "c", spec)
    await world.ready()
    assert [each["id"] for each in world.status()["network"]["subnets"]] == [one.id, two.id]
    assert world.there() == ["floating-ip"]
    world.write(CLUSTERS, "d", {"identityRef": IDENTITY, "subnets": [{"id": two.id}]})
    await world.ready(name="d")
    found = world.status(name="d")["network"]
    assert (found["id"], [each["id"] for each in found["subnets"]]) == (network.id, [two.id])
    for name in "cd":
        world.delete(CLUSTERS, name)
    await world.settle()
    assert world.there() == []
    assert world.foreign <= {thing.id for thing in world.clouds.all()}


async def test_an_existing_router_gets_an_interface_that_is_removed_later() -> None:
    world = Clusters()
    router = world.foreigner("router", "theirs")
    world.make(router={"filter": {"name": "theirs"}})
    await world.ready()
    assert not any(name.startswith("router") for name in world.there())
    assert world.one("port", "router").facts["device_id"] == router.id == world.status()["router"]["id"]
    world.delete(CLUSTERS, "c")
    await world.settle()
    assert world.there() == []
    assert ("router", router.id) in world.clouds.things


async def test_names_without_a_match_are_reported_each_with_its_field() -> None:
    world = Clusters()
    world.foreigner("network", "other", **{"router:external": True})
    world.make(apiServer={"floatingIP": "192.0.2.200"})
    await world.run(60)
    reason, message = world.told()
    assert reason == "DependencyFailed"
    assert "spec.externalNetwork: network with router:external True must match exactly one" in message
    assert "spec.apiServer.floatingIP" in message
    assert world.there() == []
    world.foreigner("floating-ip", "", floating_ip_address="192.0.2.200")
    world.make(apiServer={"floatingIP": "192.0.2.200"}, externalNetwork={"id": world.external.id})
    await world.run(60)
    assert world.status()["ready"], world.told()
    assert world.status()["controlPlaneEndpoint"]["host"] == "192.0.2.200"


async def test_zones_are_failure_domains() -> None:
    world = Clusters()
    for name, up in (("b", True), ("a", True), ("off", False)):
        world.clouds.put("availability-zone", name, zoneState={"available": up})
    world.make(controlPlaneAvailabilityZones=["b"])
    await world.ready()
    found = [(each["name"], each["controlPlane"]) for each in world.status()["failureDomains"]]
    assert found == [("a", False), ("b", True)]
    for zone in world.clouds.all("availability-zone"):
        world.clouds.remove("availability-zone", zone.id)
    await world.run(300)
    names = [each["name"] for each in world.status()["failureDomains"]]
    assert names == ["a", "b"], "each OpenStack has a zone, so an empty list is wrong"


async def test_the_default_policy_reaches_a_bastion_that_is_disabled_with_it() -> None:
    world = Clusters()
    world.make(bastion=BASTION, credentialsLostPolicy="Orphan")
    await world.ready()
    assert world.one("server")
    world.make(bastion={"enabled": False}, credentialsLostPolicy="Wait")
    await world.run(300)
    assert world.told()[0] == "Ready", world.told()
    assert not any(each.startswith("server") for each in world.there())


async def test_a_bastion_keeps_a_policy_of_its_own() -> None:
    world = Clusters()
    world.make(bastion={**BASTION, "spec": {**BASTION["spec"], "credentialsLostPolicy": "Orphan"}})
    await world.ready()
    server = world.get(SERVERS, "c-bastion")
    assert server and server["spec"]["credentialsLostPolicy"] == "Orphan"


async def test_at_rest_nothing_is_written() -> None:
    world = await guarded()
    await world.run(120)  # the server gets the address that was assigned to its bastion
    writes, calls = len(world.cluster.writes), len(world.clouds.calls)
    await world.run(900)
    assert (len(world.cluster.writes), len(world.clouds.calls)) == (writes, calls)


# Rules.

EVERYWHERE = ["egress IPv4 any all anywhere", "egress IPv6 any all anywhere"]


async def test_the_default_rules_permit_kubernetes_only() -> None:
    world = await made(managedSecurityGroups={}, bastion=BASTION)
    assert world.rules("controlplane") == [
        *EVERYWHERE,
        "ingress IPv4 tcp 10250-10250 controlplane",
        "ingress IPv4 tcp 10250-10250 worker",
        "ingress IPv4 tcp 22-22 bastion",
        "ingress IPv4 tcp 2379-2380 controlplane",
        "ingress IPv4 tcp 6443-6443 anywhere",
    ]
    assert world.rules("worker") == [
        *EVERYWHERE,
        "ingress IPv4 tcp 10250-10250 controlplane",
        "ingress IPv4 tcp 10250-10250 worker",
        "ingress IPv4 tcp 22-22 bastion",
        "ingress IPv4 tcp 30000-32767 anywhere",
        "ingress IPv4 udp 30000-32767 anywhere",
    ]
    assert world.rules("bastion") == [*EVERYWHERE, "ingress IPv4 tcp 22-22 anywhere"]


async def test_rules_of_the_user_are_added_changed_and_removed() -> None:
    def groups(port: int) -> Object:
        cni = {"name": "cni", "direction": "ingress", "protocol": "tcp", "portRangeMin": port, "portRangeMax": port}
        # The second rule adds nothing: Neutron stores no rule twice.
        twice = {"name": "api", "direction": "ingress", "protocol": "tcp", "portRangeMin": 6443, "portRangeMax": 6443}
        return {
            "clusterNodesSecurityGroupRules": [{**cni, "remoteManagedGroups": ["controlplane", "worker", "bastion"]}],
            "controlPlaneNodesSecurityGroupRules": [twice],
            "workerNodesSecurityGroupRules": [{**cni, "remoteIPPrefix": "10.0.0.0/8"}],
        }

    world = await made(managedSecurityGroups=groups(179))
    before = {name: set(world.rules(name)) for name in ("controlplane", "worker")}
    assert {f"ingress IPv4 tcp 179-179 {remote}" for remote in ("controlplane", "worker")} <= before["controlplane"]
    assert "ingress IPv4 tcp 179-179 10.0.0.0/8" in before["worker"] - before["controlplane"]
    assert not any("179-179 bastion" in rule for rule in before["worker"]), "there is none"
    world.make(managedSecurityGroups=groups(4789))
    await world.ready()
    for name, rules in before.items():
        assert set(world.rules(name)) == {rule.replace("179-179", "4789-4789") for rule in rules}
    world.make(managedSecurityGroups={})
    await world.ready()
    assert not any("4789" in rule for rule in world.rules("worker"))


async def test_a_rule_that_equals_another_in_other_notation_is_no_duplicate() -> None:
    """Neutron stores equal rules once: the removal of a rule from the spec must not delete an equal one."""
    usual = (await made(managedSecurityGroups={})).rules("controlplane")
    ports = {"direction": "ingress", "portRangeMin": 6443, "portRangeMax": 6443}
    written = [("tcp", "0.0.0.0/0"), ("6", "0.0.0.0/0"), ("6", None), ("udp", None), ("17", "0.0.0.0/0")]
    rules = [
        {"name": f"r{n}", "protocol": protocol, **ports, **({"remoteIPPrefix": prefix} if prefix else {})}
        for n, (protocol, prefix) in enumerate(written)
    ]
    world = await made(managedSecurityGroups={"controlPlaneNodesSecurityGroupRules": rules})
    assert world.rules("controlplane") == sorted([*usual, "ingress IPv4 udp 6443-6443 anywhere"])
    ids = [each["id"] for each in world.status()["resources"]]
    assert len(ids) == len(set(ids))
    for left in (rules[4:], rules[:3], []):
        world.make(managedSecurityGroups={"controlPlaneNodesSecurityGroupRules": left})
        await world.ready()
        more = (
            ["ingress IPv4 17 6443-6443 0.0.0.0/0", "ingress IPv4 udp 6443-6443 anywhere"] if left == rules[4:] else []
        )
        found = world.rules("controlplane")
        assert [rule for rule in found if rule not in more] == usual
        assert len(found) == len(usual) + (1 if more else 0)


async def test_a_rule_removed_by_others_is_recreated() -> None:
    world = await made()
    before = world.rules("worker")
    group = world.one("security-group", "worker").id
    for rule in [t for t in world.clouds.all("security-group-rule") if t.facts["security_group_id"] == group][:3]:
        world.clouds.remove("security-group-rule", rule.id)
    await world.run(300)
    assert world.rules("worker") == before
    assert world.told()[0] == "Ready"


# Changes.


async def test_name_servers_can_change() -> None:
    world = await made()
    world.make(managedSubnets=[{"cidr": "10.6.0.0/24", "dnsNameservers": ["10.0.0.3"]}])
    await world.ready()
    assert world.one("subnet").facts["dns_nameservers"] == ["10.0.0.3"]


async def test_deletions_by_others_are_reported_or_recreated_by_policy() -> None:
    world = await made()
    world.clouds.remove("router", world.one("router").id)
    await world.run(300)
    reason, message = world.told()
    assert (reason, world.told("RouterReady")[0]) == ("BlockedResourceNotFound",) * 2
    assert "router cluster" in message and "recreatePolicy" in message
    assert not world.status()["ready"]
    world.make(recreatePolicy="Always")
    await world.ready()
    assert world.there() == NETWORK


async def test_a_lost_address_of_the_api_endpoint_is_not_replaced() -> None:
    """Users with a kubeconfig use that address, and the endpoint of a cluster never changes."""
    world = await made(recreatePolicy="Always")
    lost, router = world.status()["apiServerFloatingIP"], world.one("router").id
    world.clouds.remove("floating-ip", lost["id"])
    world.clouds.remove("router", router)
    await world.run(300)
    assert not world.status()["ready"]
    reason, message = world.told()
    assert (reason, world.told("APIEndpointReady")[0]) == ("BlockedResourceNotFound",) * 2
    assert lost["address"] in message and "spec.apiServer.floatingIP" in message
    assert world.one("router").id != router, "what else is lost is made anew"
    assert "floating-ip" not in world.there()
    back = world.foreigner("floating-ip", "", floating_ip_address=lost["address"])
    world.make(recreatePolicy="Always", apiServer={"floatingIP": lost["address"]})
    await world.ready()
    assert world.status()["apiServerFloatingIP"] == {"id": back.id, "address": lost["address"]}


async def test_a_deleted_api_address_is_recreated_if_the_endpoint_is_another() -> None:
    world = await made(recreatePolicy="Always", controlPlaneEndpoint={"host": "api.example.org", "port": 6443})
    lost = world.status()["apiServerFloatingIP"]["id"]
    world.clouds.remove("floating-ip", lost)
    await world.run(300)
    await world.ready()
    assert world.status()["apiServerFloatingIP"]["id"] != lost


async def test_an_interface_removed_by_others_is_added_again() -> None:
    world = await made()
    world.clouds.become(world.one("port", "router"), "DOWN", device_id="")
    await world.run(300)
    assert world.one("port", "router").facts["device_id"] == world.one("router").id


async def test_the_identity_can_change_without_a_recreation_of_the_bastion() -> None:
    world = await guarded()
    before = world.one("server").id
    world.make(bastion=BASTION, identityRef={**IDENTITY, "name": "others"})
    await world.ready()
    assert world.one("server").id == before
    assert world.get(SERVERS, "c-bastion")["spec"]["identityRef"]["name"] == "others"  # type: ignore[index]
    assert {call.cloud.secret[1] for call in world.clouds.calls} == {"clouds"}


async def test_a_pause_by_annotation_or_cluster_stops_all_changes() -> None:
    world = Clusters(core=True)
    world.cluster.put(CLUSTER, {"metadata": {"name": "c", "namespace": NAMESPACE}, "spec": {"paused": True}})
    world.make()
    await world.run(50)
    assert (world.there(), world.told()) == ([], ("Paused", "Paused by spec.paused of Cluster c"))
    world.write(CLUSTERS, "c", MANAGED, annotations={CLUSTER_API.annotation: ""})
    world.cluster.put(CLUSTER, {**world.get(CLUSTER, "c"), "spec": {}})  # type: ignore[dict-item]
    await world.run(50)
    assert (world.there(), world.told()[1]) == ([], "Paused by the annotation cluster.x-k8s.io/paused")
    world.write(CLUSTERS, "c", MANAGED, annotations={})
    await world.ready()
    assert world.told("Paused")[0] == "NotPaused"
    ready = world.told()
    world.write(CLUSTERS, "c", MANAGED, annotations={CLUSTER_API.annotation: ""})
    await world.run(50)
    assert world.told() == ready, "what was told before the pause stays"
    assert world.told("Paused")[0] == "Paused"
    assert world.status()["resources"]


async def test_a_paused_cluster_pauses_infrastructure_of_another_name_before_owner_and_label_exist() -> None:
    world = Clusters(core=True)
    ref = {"apiGroup": CLUSTERS.group, "kind": "OpenStackCluster", "name": "c"}
    spec = {"paused": True, "infrastructureRef": ref}
    world.cluster.put(CLUSTER, {"metadata": {"name": "top", "namespace": NAMESPACE}, "spec": spec})
    world.make()
    await world.run(50)
    assert (world.there(), world.told()) == ([], ("Paused", "Paused by spec.paused of Cluster top"))
    assert "finalizers" not in world.get(CLUSTERS, "c")["metadata"]  # type: ignore[index]
    world.cluster.put(CLUSTER, {**world.get(CLUSTER, "top"), "spec": {"infrastructureRef": ref}})  # type: ignore[dict-item]
    await world.ready()


async def test_an_externally_managed_cluster_is_not_changed() -> None:
    world = Clusters()
    world.write(CLUSTERS, "c", MANAGED, annotations={MANAGED_BY: "terraform"})
    await world.run(60)
    assert (world.there(), world.status(), world.clouds.looks) == ([], {"observedGeneration": -1}, 0)
    assert "finalizers" not in world.get(CLUSTERS, "c")["metadata"]  # type: ignore[index]
    world.delete(CLUSTERS, "c")
    await world.settle()
    assert not world.get(CLUSTERS, "c")


# The address of the API.


async def test_the_api_address_is_attached_to_the_first_ready_control_plane_machine() -> None:
    world = await made()
    world.machine("worker")
    for name in ("cp-1", "cp-0"):
        world.machine(name, control_plane=True)
    await world.ready(MACHINES, "cp-0")
    api = world.status()["apiServerFloatingIP"]["id"]
    held = address(world, api).facts["port_id"]
    assert held in {world.one("port", "cp-0").id, world.one("port", "cp-1").id}
    holder, other = ("cp-0", "cp-1") if held == world.one("port", "cp-0").id else ("cp-1", "cp-0")
    world.delete(MACHINES, other)
    await world.run(60)
    assert address(world, api).facts["port_id"] == held, "it stays where it is"
    world.machine("cp-2", control_plane=True)
    await world.ready(MACHINES, "cp-2")
    world.delete(MACHINES, holder)
    await world.run(60)
    assert address(world, api).facts["port_id"] == world.one("port", "cp-2").id


async def test_a_users_address_is_used_and_kept() -> None:
    world = Clusters()
    given = world.foreigner("floating-ip", "", floating_ip_address="198.51.100.7")
    world.make(apiServer={"floatingIP": "198.51.100.7"})
    await world.ready()
    assert "floating-ip" not in world.there()
    world.machine("cp", control_plane=True)
    await world.ready(MACHINES, "cp")
    assert address(world, given.id).facts["port_id"] == world.one("port", "cp").id
    for kind, name in ((MACHINES, "cp"), (CLUSTERS, "c")):
        world.delete(kind, name)
    await world.settle()
    assert world.there() == []
    assert address(world, given.id).facts["port_id"] is None


async def test_a_created_address_that_the_user_adds_to_the_spec_becomes_the_users() -> None:
    world = await made()
    ours = world.status()["apiServerFloatingIP"]
    world.make(apiServer={"floatingIP": ours["address"]})
    await world.ready()
    assert world.status()["apiServerFloatingIP"] == ours
    world.delete(CLUSTERS, "c")
    await world.settle()
    assert world.there() == ["floating-ip"]
    assert not world.get(CLUSTERS, "c")


# The bastion.


async def test_a_bastion_is_a_server_with_its_own_address_and_group() -> None:
    world = await guarded(tags=["t"])
    assert world.there() == GUARDED
    server, port = world.get(SERVERS, "c-bastion") or {}, world.one("port", "bastion")
    assert server["metadata"]["labels"][NAME] == "c"
    assert server["spec"]["tags"] == ["t"]
    assert port.facts["security_groups"] == [world.one("security-group", "bastion").id]
    (ip,) = [t for t in world.clouds.all("floating-ip") if t.facts.get("port_id") == port.id]
    assert bastion(world) == {
        "id": world.one("server").id,
        "name": "c-bastion",
        "sshKeyName": "me",
        "state": "ACTIVE",
        "ip": "10.0.0.5",
        "floatingIP": ip.facts["floating_ip_address"],
    }


async def test_machines_can_be_created_before_the_bastion_is_ready() -> None:
    world = Clusters()
    world.clouds.fail["create server"] = TransientCloudError("QuotaExceeded", "no room", 30)
    world.make(bastion=BASTION)
    await world.run(60)
    assert world.status()["ready"]
    assert world.told() == world.told("BastionReady")
    assert world.told()[0] == "QuotaExceeded"


async def test_a_replaced_bastion_keeps_its_address() -> None:
    world = await guarded()
    before, ip = world.one("server").id, bastion(world)["floatingIP"]
    world.clouds.put("flavor", "large")
    world.make(bastion={**BASTION, "spec": {**PART, "flavor": "large"}})
    await world.ready()
    assert world.there() == GUARDED
    assert world.one("server").id != before
    assert bastion(world)["floatingIP"] == ip
    held = [t.facts["port_id"] for t in world.clouds.all("floating-ip") if t.facts["floating_ip_address"] == ip]
    assert held == [world.one("port", "bastion").id]


async def test_explicit_defaults_and_other_fields_do_not_replace_the_bastion() -> None:
    world = await guarded()
    before, calls = world.one("server").id, len(world.clouds.calls)
    said = {"trunk": False, "configDrive": False, "recreatePolicy": "Always", "identityRef": IDENTITY, "ports": []}
    world.make(bastion={**BASTION, "spec": {**PART, **said}}, controlPlaneAvailabilityZones=["a"])
    await world.ready()
    assert (world.one("server").id, len(world.clouds.calls)) == (before, calls)


async def test_a_disabled_bastion_is_deleted_with_all_its_resources() -> None:
    world = await guarded()
    world.make(bastion={**BASTION, "enabled": False})
    await world.ready()
    assert world.there() == NETWORK
    assert bastion(world) == {}
    assert not any("22-22" in rule for rule in world.rules("worker"))
    world.make()
    await world.ready()
    world.make(bastion=BASTION)
    await world.ready()
    assert world.there() == GUARDED


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("own", [False, True])
async def test_the_policy_orphan_keeps_no_bastion_of_a_cluster_that_stays(replaced: bool, own: bool) -> None:
    """The policy is about the deletion of the cluster; a server that is left would keep the security group in use."""
    policy = {"credentialsLostPolicy": "Orphan"}
    part, rest = (PART | policy, {}) if own else (PART, policy)
    world = await made(bastion={**BASTION, "spec": part}, **rest)
    before = world.one("server").id
    world.clouds.put("flavor", "large")
    part = {**part, "flavor": "large"}
    world.make(bastion={**BASTION, "enabled": replaced, "spec": part}, **rest)
    await world.ready()
    assert world.there() == (GUARDED if replaced else NETWORK)
    assert before not in {each.id for each in world.clouds.all("server")}
    if replaced:
        assert world.get(SERVERS, "c-bastion")["spec"]["credentialsLostPolicy"] == "Orphan"  # type: ignore[index]


async def test_an_address_of_the_users_for_the_bastion_is_kept_through_all_of_it() -> None:
    world = Clusters()
    given = world.foreigner("floating-ip", "", floating_ip_address="198.51.100.7")
    own = {**BASTION, "floatingIP": "198.51.100.7"}
    world.make(bastion=own)
    await world.ready()
    assert address(world, given.id).facts["port_id"] == world.one("port", "bastion").id
    assert bastion(world)["floatingIP"] == "198.51.100.7"
    world.make(bastion={**own, "enabled": False})
    await world.ready()
    assert address(world, given.id).facts["port_id"] is None
    world.make(bastion={**own, "spec": {**PART, "sshKeyName": "other"}})
    await world.ready()
    assert address(world, given.id).facts["port_id"] == world.one("port", "bastion").id
    world.delete(CLUSTERS, "c")
    await world.settle()
    assert world.there() == []
    assert ("floating-ip", given.id) in world.clouds.things


async def test_a_bastion_without_a_network_reports_which_field_to_set() -> None:
    world = Clusters()
    world.write(CLUSTERS, "c", {"identityRef": IDENTITY, "bastion": BASTION})
    await world.run(60)
    assert world.told("BastionReady")[0] == "BlockedNoNetwork"
    assert world.status()["ready"], "machines may bring their own"


async def test_a_missing_bastion_address_blocks_nothing_else() -> None:
    world = Clusters()
    world.make(bastion={**BASTION, "floatingIP": "198.51.100.7"})
    await world.run(60)
    assert world.status()["ready"]
    assert world.told("BastionReady")[0] == "DependencyFailed"
    assert "spec.bastion.floatingIP" in world.told()[1]


async def test_a_foreign_server_with_the_name_of_the_bastion_is_not_changed() -> None:
    world = Clusters()
    spec = {**PART, "identityRef": IDENTITY, "ports": [{"network": {"filter": {"name": "public"}}}]}
    world.write(SERVERS, "c-bastion", spec)
    world.make(bastion=BASTION)
    await world.run(60)
    assert world.told("BastionReady")[0] == "BlockedNameTaken"
    world.delete(CLUSTERS, "c")
    await world.settle()
    assert world.get(SERVERS, "c-bastion")


# Deletion.


async def empty(world: Clusters) -> None:
    """Nothing remains in Kubernetes and in OpenStack."""
    assert world.there() == []
    assert not world.get(CLUSTERS, "c")
    assert not world.get(SERVERS, "c-bastion")


async def test_a_cluster_is_deleted_after_its_machines_with_all_resources() -> None:
    world = await guarded()
    world.machine("m", control_plane=True)
    await world.ready(MACHINES, "m")
    world.delete(CLUSTERS, "c")
    await world.run(60)
    assert world.told() == ("MachinesLeft", "Waiting for OpenStackMachine m to be deleted")
    assert {*GUARDED, "server m"} <= set(world.there())
    before = len(world.clouds.calls)
    world.delete(MACHINES, "m")
    await world.settle()
    assert {call.do for call in world.clouds.calls[before:]} == {"delete"}
    await empty(world)


async def test_killed_at_every_write_it_converges_without_a_duplicate_or_an_orphan() -> None:
    async def start() -> Clusters:
        return Clusters()

    async def end(world: Clusters) -> None:
        await world.ready()
        assert world.there() == GUARDED
        assert len(world.clouds.all("security-group-rule")) == 20

    await killed_everywhere(start, lambda world: world.make(bastion=BASTION), end)


async def test_a_deletion_killed_at_every_write_leaves_no_resources() -> None:
    await killed_everywhere(guarded, lambda world: world.delete(CLUSTERS, "c"), empty)


async def test_killed_at_every_write_of_a_change_of_the_bastion() -> None:
    def change(world: Clusters) -> None:
        world.make(bastion={**BASTION, "spec": {**PART, "sshKeyName": "other"}})

    async def end(world: Clusters) -> None:
        await world.ready()
        assert world.there() == GUARDED
        assert bastion(world)["sshKeyName"] == "other"

    await killed_everywhere(guarded, change, end)


async def test_half_created_resources_are_deleted_completely() -> None:
    for number in range(2, 45):
        world = Clusters()
        world.make(bastion=BASTION)
        while len(world.clouds.calls) < number and world.told()[0] != "Ready":
            await world.run(0.01 if number < 30 else 1)
        before = len(world.clouds.calls)
        world.delete(CLUSTERS, "c")
        await world.settle()
        assert {call.do for call in world.clouds.calls[before + 1 :]} <= {"delete"}, number
        await empty(world)
        await world.stop()


@pytest.mark.parametrize("what", ["network", "router", "port", "security-group", "security-group-rule", "floating-ip"])
async def test_a_request_that_succeeds_but_seems_to_fail_creates_no_duplicate(what: str) -> None:
    world = Clusters()
    world.clouds.lose.add(f"create {what}")
    world.make()
    await world.ready()
    assert world.there() == NETWORK


@pytest.mark.parametrize("where", ["look", "find", "create router", "update router", "create floating-ip"])
@pytest.mark.parametrize(
    "trouble",
    [TransientCloudError("ServerError", "HTTP 500"), TerminalCloudError("Forbidden", "HTTP 403")],
    ids=lambda each: each.reason,
)
async def test_each_wrong_response_becomes_a_condition_without_a_hot_loop(where: str, trouble: Exception) -> None:
    world = Clusters()
    world.clouds.fail[where] = trouble
    world.make()
    await world.run(300)
    assert world.told() == (trouble.reason, str(trouble))  # type: ignore[attr-defined]
    assert len(world.reconciles) < 90
    del world.clouds.fail[where]
    await world.run(90)
    assert world.told()[0] == "Ready"


async def test_lost_credentials_block_the_deletion_until_the_policy_permits_it() -> None:
    world = await guarded()
    world.clouds.fail["look"] = TransientCloudError("CredentialsMissing", "there is no Secret", sure=True)
    world.delete(CLUSTERS, "c")
    await world.run(120)
    assert world.told()[0] == "CredentialsMissing"
    world.make(bastion=BASTION, credentialsLostPolicy="Detach")
    await world.settle()
    assert not world.get(CLUSTERS, "c") and not world.get(SERVERS, "c-bastion")
    assert world.there() == GUARDED
    left = [message for key, reason, message, _ in world.cluster.events if reason == "LeftBehind" and key[1] == "c"]
    assert left and "network 00000000" in left[0], "what is left is told by its ids"


async def test_without_its_status_a_cluster_finds_all_resources_by_mark() -> None:
    world = await guarded(tags=["t"])
    await world.stop()
    before = {t.id for t in world.clouds.all()}
    world.cluster.put(CLUSTERS, {k: v for k, v in (world.get(CLUSTERS, "c") or {}).items() if k != "status"})
    await world.ready()
    assert {t.id for t in world.clouds.all()} == before
    assert len(world.status()["resources"]) == 29
    await world.stop()
    world.cluster.put(CLUSTERS, {k: v for k, v in (world.get(CLUSTERS, "c") or {}).items() if k != "status"})
    world.delete(CLUSTERS, "c")
    await world.settle()
    await empty(world)


async def test_slow_watches_change_nothing() -> None:
    world = Clusters(latency=2.5)
    world.make(bastion=BASTION)
    for name in ("m", "n"):
        world.machine(name, control_plane=name == "m")
    await world.run(240)
    assert world.told()[0] == "Ready"
    assert sorted([*GUARDED, *(f"{what} {name}" for what in ("server", "port") for name in ("m-0", "n-0"))]) == sorted(
        name.replace("server m", "server m-0").replace("server n", "server n-0") for name in world.there()
    )
    for kind, name in ((CLUSTERS, "c"), (MACHINES, "m"), (MACHINES, "n")):
        world.delete(kind, name)
    await world.run(240)
    await empty(world)


async def test_tags_that_a_process_died_before_are_set() -> None:
    world = await made(tags=["t"])
    world.clouds.become(world.one("network"), "", tags=["theirs"])
    await world.run(300)
    assert world.one("network").facts["tags"] == ["t", "theirs"]


async def test_two_clusters_share_nothing() -> None:
    world = await made()
    world.make("d")
    await world.ready(name="d")
    world.delete(CLUSTERS, "c")
    await world.settle()
    assert [name.replace("openstack-d", "openstack-c") for name in world.there()] == NETWORK
