"""The life of an OpenStackMachine: its waits, its server, and its deletion."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.kinds import SECRET
from stackwright.controllers.infra.clusterapi import CLUSTER, MACHINE, NAME
from stackwright.core.conditions import find
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.pausing import CLUSTER_API
from stackwright.core.plan import Object
from tests.scenario.capi_world import (
    BASTION,
    CLUSTERS,
    IDENTITY,
    MACHINES,
    PART,
    SERVERS,
    Clusters,
    killed_everywhere,
    make_small,
)
from tests.scenario.world import NAMESPACE

pytestmark = pytest.mark.looptime
POOLS = OpenStackFloatingIPPool.KIND
BOOTSTRAP = "stackwright.dev/bootstrap-secret"


async def clusters(**spec: Any) -> Clusters:
    world = Clusters()
    world.make(**spec)
    await world.ready()
    return world


async def made(**spec: Any) -> Clusters:
    world = Clusters()
    await make_small(world, **spec)
    return world


def server(world: Clusters, name: str = "m") -> Object:
    found = world.get(SERVERS, name)
    assert found is not None
    return found


def machine(world: Clusters, name: str = "m") -> Object:
    found = world.get(MACHINES, name)
    assert found is not None
    return found


def told(world: Clusters, type_: str = "Ready") -> tuple[str, str]:
    return world.told(type_, MACHINES, "m")


# The server.


async def test_a_machine_is_a_server_of_its_name_in_the_network_and_group_of_its_cluster() -> None:
    world = await clusters(tags=["all", "mine"])
    world.machine("m", tags=["mine", "own"])
    world.machine("cp", control_plane=True)
    await world.ready(MACHINES, "m")
    status, of_cluster = world.status(MACHINES, "m"), world.status()
    assert machine(world)["spec"]["providerID"] == f"openstack:///{world.one('server', 'm').id}"
    assert (status["ready"], status["instanceState"], status["instanceID"]) == (
        True, "ACTIVE", world.one("server", "m").id,
    )  # fmt: skip
    assert status["initialization"] == {"provisioned": True}
    assert {each["type"] for each in status["addresses"]} == {"InternalIP", "InternalDNS"}
    assert server(world)["spec"]["tags"] == ["all", "mine", "own"]
    assert server(world)["metadata"]["labels"][NAME] == "c"
    port = server(world)["spec"]["ports"][0]
    assert port["network"] == {"id": of_cluster["network"]["id"]}
    assert port["fixedIPs"] == [{"subnet": {"id": of_cluster["network"]["subnets"][0]["id"]}}]
    assert port["securityGroups"] == [{"id": of_cluster["workerSecurityGroup"]["id"]}]
    group = server(world, "cp")["spec"]["ports"][0]["securityGroups"]
    assert group == [{"id": of_cluster["controlPlaneSecurityGroup"]["id"]}]


async def test_a_machine_has_its_own_ports_in_the_clusters_network_by_default() -> None:
    world = await clusters()
    other = world.foreigner("network", "other")
    mine = world.foreigner("security-group", "mine")
    theirs = {"filter": {"name": "mine"}}
    ports = [
        {"network": {"id": other.id}, "securityGroups": [{"id": mine.id}]},
        {"enablePortSecurity": False},
        {"fixedIPs": [{"ipAddress": "10.6.0.77"}]},
    ]
    world.machine(ports=ports, securityGroups=[theirs])
    await world.ready(MACHINES, "m")
    found = server(world)["spec"]["ports"]
    network, worker = world.status()["network"]["id"], {"id": world.status()["workerSecurityGroup"]["id"]}
    assert [port["network"]["id"] for port in found] == [other.id, network, network]
    assert [port.get("securityGroups") for port in found] == [[{"id": mine.id}, theirs], None, [worker, theirs]]
    assert found[2]["fixedIPs"] == [{"ipAddress": "10.6.0.77"}]


async def test_without_port_security_in_the_network_no_group_is_set() -> None:
    world = await clusters(managedNetwork={"enablePortSecurity": False})
    world.machine()
    await world.ready(MACHINES, "m")
    assert "securityGroups" not in server(world)["spec"]["ports"][0]


async def test_machines_use_the_primary_one_of_several_subnets() -> None:
    world = Clusters()
    network = world.foreigner("network", "theirs")
    for name in "ab":
        world.foreigner("subnet", name, network_id=network.id, cidr="10.0.0.0/24")
    primary = {"filter": {"name": "b"}}
    spec = {"identityRef": IDENTITY, "network": {"id": network.id}, "primarySubnet": primary}
    world.write(CLUSTERS, "c", spec)
    world.machine()
    await world.ready(MACHINES, "m")
    assert server(world)["spec"]["ports"][0]["fixedIPs"] == [{"subnet": primary}]


async def test_the_credentials_are_those_of_the_machine_or_else_of_the_cluster() -> None:
    world = await clusters()
    own = {**IDENTITY, "name": "own", "region": "two"}
    world.machine("m", identityRef=own)
    world.machine("n")
    await world.ready(MACHINES, "m")
    assert server(world)["spec"]["identityRef"] == own
    assert server(world, "n")["spec"]["identityRef"] == IDENTITY


@pytest.mark.parametrize(
    ("own", "region"), [(None, ""), ({**IDENTITY, "name": "own"}, ""), ({**IDENTITY, "region": "own"}, "own")]
)
async def test_the_region_in_the_provider_id_is_that_of_the_machines_own_credentials(own: Any, region: str) -> None:
    """The format is that of Cluster API Provider OpenStack, in any region of the cluster."""
    world = await clusters(identityRef={**IDENTITY, "region": "two"})
    world.machine("m", **({"identityRef": own} if own else {}))
    await world.ready(MACHINES, "m")
    assert machine(world)["spec"]["providerID"] == f"openstack://{region}/{world.one('server', 'm').id}"


@pytest.mark.parametrize("prefix", ["openstack://", "openstack:///", "openstack://two/", "openstack://other/"])
async def test_a_provider_id_with_another_region_is_kept_and_is_the_same_server(prefix: str) -> None:
    """For example, Cluster API Provider OpenStack or an earlier version may have created the machine."""
    world = await clusters(identityRef={**IDENTITY, "region": "two"})
    world.machine("m")
    await world.ready(MACHINES, "m")
    known = f"{prefix}{world.one('server', 'm').id}"
    before = machine(world)
    world.cluster.put(MACHINES, {**before, "spec": {**before["spec"], "providerID": known}})
    await world.run(60)
    assert world.told(kind=MACHINES, name="m")[0] == "Ready"
    assert machine(world)["status"]["ready"]
    assert machine(world)["spec"]["providerID"] == known
    world.delete(MACHINES, "m")
    await world.settle(patience=20)
    assert world.clouds.all("server") == []


async def test_a_server_is_created_once_and_not_changed_later() -> None:
    world = await made()
    before = server(world)["spec"]
    world.make(tags=["later"])
    world.machine(tags=["later"], flavor="other", sshKeyName="other")
    await world.run(120)
    assert server(world)["spec"] == before


async def test_only_credentials_and_recreate_policy_are_updated_later() -> None:
    world = await made()
    calls = len(world.clouds.calls)
    world.machine(identityRef={**IDENTITY, "name": "others"}, recreatePolicy="Always")
    await world.run(60)
    found = server(world)
    assert (found["spec"]["identityRef"]["name"], found["spec"]["recreatePolicy"]) == ("others", "Always")
    assert found["metadata"]["labels"][NAME] == "c"
    assert len(world.clouds.calls) == calls


async def test_at_rest_nothing_is_written() -> None:
    world = await made()
    await world.run(60)
    writes = len(world.cluster.writes)
    await world.run(600)
    assert len(world.cluster.writes) == writes


# Waiting.


async def test_a_machine_waits_for_its_cluster_and_reports_its_wait() -> None:
    world = Clusters()
    world.write(MACHINES, "m", PART)
    await world.run(10)
    assert told(world)[0] == "WaitingForClusterInfrastructure"
    assert NAME in told(world)[1]
    world.machine()
    await world.run(10)
    assert told(world)[1] == "Waiting for OpenStackCluster c: it does not exist"
    world.clouds.fail["create network"] = TransientCloudError("QuotaExceeded", "no room for a network", 30)
    world.make()
    await world.run(10)
    assert told(world) == ("WaitingForClusterInfrastructure", "Waiting for OpenStackCluster c: no room for a network")
    assert not world.get(SERVERS, "m")
    del world.clouds.fail["create network"]
    await world.run(90)
    assert told(world)[0] == "Ready"


async def test_no_server_is_created_from_an_invalid_spec_of_a_cluster() -> None:
    """An earlier version may have stored a spec that is invalid now."""
    world = await clusters(disablePortSecurity=True)
    world.machine()
    await world.ready(MACHINES, "m")
    before = server(world)["spec"]
    cluster = world.get(CLUSTERS, "c")
    assert cluster is not None
    spec = {**cluster["spec"], "identityRef": {**IDENTITY, "name": "later"}}
    subnet = {"cidr": "10.6.0.0/24", "dnsNameservers": ["dns"]}
    world.smuggle(CLUSTERS, "c", {**spec, "managedSubnets": [subnet]})
    world.machine("n")
    await world.run(60)
    reason, message = world.told(kind=MACHINES, name="n")
    assert reason == "WaitingForClusterInfrastructure"
    assert message.startswith("Waiting for OpenStackCluster c: its spec is not valid: spec.managedSubnets[0].dns")
    assert not world.get(SERVERS, "n")
    assert told(world)[0] == "Ready" and server(world)["spec"] == before
    world.make(disablePortSecurity=True)
    await world.ready(MACHINES, "n")
    assert "securityGroups" not in server(world, "n")["spec"]["ports"][0]


async def test_no_machine_is_created_for_a_deleted_cluster() -> None:
    world = await made()
    world.delete(CLUSTERS, "c")
    world.machine("n")
    await world.run(60)
    assert world.told(kind=MACHINES, name="n")[1] == "Waiting for OpenStackCluster c: it is being deleted"
    for name in "mn":
        world.delete(MACHINES, name)
    await world.settle()
    assert world.there() == []


async def test_a_machine_without_a_network_reports_which_field_to_set() -> None:
    world = Clusters()
    world.write(CLUSTERS, "c", {"identityRef": IDENTITY})
    world.machine()
    await world.run(60)
    reason, message = told(world)
    assert reason == "BlockedNoNetwork"
    assert "spec.ports" in message and "managedSubnets" in message
    world.machine(ports=[{"network": {"id": world.external.id}}])
    await world.run(60)
    assert told(world)[0] == "Ready"


async def test_a_foreign_server_object_of_the_same_name_is_not_changed() -> None:
    world = await clusters()
    spec = {**PART, "identityRef": IDENTITY, "ports": [{"network": {"filter": {"name": "public"}}}]}
    world.write(SERVERS, "m", spec)
    world.machine()
    await world.run(60)
    assert told(world)[0] == "BlockedNameTaken"
    world.delete(MACHINES, "m")
    await world.settle(patience=5)
    assert world.get(SERVERS, "m")


async def test_without_cluster_api_an_annotation_names_the_bootstrap_data() -> None:
    world = await clusters()
    world.machine()
    world.write(MACHINES, "m", PART, annotations={BOOTSTRAP: "mine"})
    await world.ready(MACHINES, "m")
    assert server(world)["spec"]["userDataRef"] == {"name": "mine"}
    (call,) = [call for call in world.clouds.calls if call.resource_key[0] == "server"]
    assert call.user_data == ((NAMESPACE, "mine"), "value")
    world.machine("n")
    await world.ready(MACHINES, "n")
    assert "userDataRef" not in server(world, "n")["spec"]


# With Cluster API.


def top(world: Clusters, name: str = "top", **spec: Any) -> None:
    reference = {"kind": "OpenStackCluster", "name": "c"}
    before = world.get(CLUSTER, name) or {"metadata": {"name": name, "namespace": NAMESPACE}}
    world.cluster.put(CLUSTER, {**before, "spec": {"infrastructureRef": reference, **spec}})


def owned(world: Clusters, **spec: Any) -> None:
    """Create a Machine that owns the OpenStackMachine, as Cluster API does."""
    before = world.get(MACHINE, "owner") or {"metadata": {"name": "owner", "namespace": NAMESPACE}}
    found = world.cluster.put(MACHINE, {**before, "spec": spec})
    reference = {"kind": "Machine", "name": "owner", "uid": found["metadata"]["uid"]}
    reference["apiVersion"] = "cluster.x-k8s.io/v1beta2"
    meta = machine(world)["metadata"]
    world.cluster.put(MACHINES, {**machine(world), "metadata": {**meta, "ownerReferences": [reference]}})


async def test_with_cluster_api_the_machine_waits_for_its_owner_and_for_bootstrap_data() -> None:
    world = Clusters(core=True)
    top(world)
    world.make()
    await world.ready()
    world.machine(cluster="top")
    await world.run(30)
    assert told(world) == ("WaitingForBootstrapData", "Waiting for a Machine that owns this object")
    owned(world, failureDomain="zone-b")
    await world.run(30)
    assert told(world) == ("WaitingForBootstrapData", "Waiting for the bootstrap data of Machine owner")
    owned(world, failureDomain="zone-b", bootstrap={"dataSecretName": "owner-bootstrap"})
    await world.run(60)
    assert told(world)[0] == "Ready"
    spec = server(world)["spec"]
    assert (spec["userDataRef"]["name"], spec["availabilityZone"]) == ("owner-bootstrap", "zone-b")
    assert server(world)["metadata"]["labels"][NAME] == "top"


async def test_a_cluster_that_names_no_infrastructure_yet_is_waited_for() -> None:
    world = Clusters(core=True)
    top(world, infrastructureRef={})
    world.machine(cluster="top")
    await world.run(30)
    assert told(world) == ("WaitingForClusterInfrastructure", "Cluster top names no OpenStackCluster")


async def test_a_machine_paused_by_annotation_or_cluster_is_not_changed() -> None:
    world = Clusters(core=True)
    top(world, paused=True)
    world.make()
    world.machine(cluster="top")
    await world.run(50)
    assert told(world, "Paused") == told(world) == ("Paused", "Paused by spec.paused of Cluster top")
    world.write(MACHINES, "m", PART, annotations={CLUSTER_API.annotation: ""}, labels={NAME: "top"})
    top(world)
    await world.run(50)
    assert told(world, "Paused")[1] == "Paused by the annotation cluster.x-k8s.io/paused"
    assert "finalizers" not in machine(world)["metadata"] and not world.get(SERVERS, "m")
    world.write(MACHINES, "m", PART, annotations={}, labels={NAME: "top"})
    await world.run(50)
    assert told(world, "Paused")[0] == "NotPaused"
    assert "finalizers" in machine(world)["metadata"]


async def test_a_paused_cluster_pauses_the_servers_of_its_machines_also_in_a_deletion() -> None:
    world = Clusters(core=True)
    top(world)
    world.make()
    world.machine(cluster="top")
    owned(world, bootstrap={"dataSecretName": "data"})
    world.cluster.put(SECRET, {"metadata": {"name": "data", "namespace": NAMESPACE}, "data": {"value": ""}})
    await world.run(60)
    assert told(world)[0] == "Ready"
    before = world.there()
    top(world, paused=True)
    world.delete(SERVERS, "m")
    world.delete(MACHINES, "m")
    await world.run(120)
    assert world.there() == before
    for kind in (SERVERS, MACHINES):
        reason, message = world.told(kind=kind, name="m")
        assert reason == "Paused"
        assert message.startswith("Paused by spec.paused of Cluster top; it is being deleted")
    top(world)
    await world.settle(patience=20)
    assert not world.get(SERVERS, "m") and not world.get(MACHINES, "m")
    assert not any(name.endswith((" m", " m-0")) for name in world.there())


async def test_a_paused_cluster_pauses_a_bastion_before_owner_and_label_exist() -> None:
    world = await clusters(bastion=BASTION)
    await world.run(60)
    before = world.there()
    assert "server c-bastion" in before
    world.cluster.unserved = set()
    top(world, paused=True)
    world.delete(SERVERS, "c-bastion")
    await world.run(120)
    assert world.there() == before
    assert world.told("Paused", SERVERS, "c-bastion")[1].startswith("Paused by spec.paused of Cluster top")


@pytest.mark.parametrize("holds", [(SERVERS, "m"), (MACHINES, "m")])
async def test_a_server_is_paused_by_its_own_annotation_and_by_that_of_its_machine(holds: Any) -> None:
    world = await made()
    before, obj = world.there(), dict(world.get(*holds) or {})
    obj["metadata"] = {
        **obj["metadata"],
        "annotations": {**obj["metadata"].get("annotations", {}), CLUSTER_API.annotation: ""},
    }
    world.cluster.put(holds[0], obj)
    world.delete(SERVERS, "m")
    await world.run(120)
    assert world.there() == before
    assert world.told("Paused", SERVERS, "m")[1].startswith("Paused by the annotation cluster.x-k8s.io/paused")
    assert world.status(SERVERS, "m")["instanceID"], "the record stays"


async def test_a_cluster_that_cluster_api_gave_another_name_knows_its_machines_by_that() -> None:
    world = Clusters(core=True)
    top(world)
    world.make()
    world.write(CLUSTERS, "c", world.get(CLUSTERS, "c")["spec"], labels={NAME: "top"})  # type: ignore[index]
    await world.ready()
    world.machine(cluster="top")
    owned(world, bootstrap={"dataSecretName": "data"})
    await world.run(60)
    assert told(world)[0] == "Ready"
    world.delete(CLUSTERS, "c")
    await world.run(30)
    assert world.told()[0] == "MachinesLeft"


async def test_the_zone_that_its_machine_names_is_the_failure_domain_of_its_status() -> None:
    world = Clusters(core=True)
    top(world)
    world.make()
    world.machine(cluster="top")
    owned(world, bootstrap={"dataSecretName": "data"}, failureDomain="az1")
    await world.run(60)
    assert told(world)[0] == "Ready"
    assert server(world)["spec"]["availabilityZone"] == "az1"
    assert world.status(MACHINES, "m")["failureDomain"] == "az1"


# Later states.


@pytest.mark.parametrize(("state", "reason"), [("ERROR", "InstanceStateError"), ("SHUTOFF", "InstanceNotRunning")])
async def test_the_machine_reports_the_state_of_its_server(state: str, reason: str) -> None:
    world = await made()
    world.clouds.become(world.one("server", "m"), state, fault="No valid host")
    await world.run(300)
    assert told(world) == told(world, "InstanceReady") == world.told(kind=SERVERS, name="m")
    assert told(world)[0] == reason
    status = world.status(MACHINES, "m")
    assert (status["ready"], status["instanceState"]) == (False, state)
    assert status["initialization"] == {"provisioned": True}, "once is for ever"
    assert machine(world)["spec"]["providerID"]


async def test_the_machine_reports_what_blocks_its_server() -> None:
    world = await clusters()
    world.machine(flavor="huge")
    await world.run(60)
    assert told(world, "InstanceReady") == told(world) == world.told(kind=SERVERS, name="m")
    assert "flavor with name huge" in told(world)[1]
    reconciling = find(machine(world), "Reconciling") or {}
    assert reconciling["status"] == "True"


async def test_a_deleted_server_with_a_published_id_is_not_replaced() -> None:
    world = await made()
    before = machine(world)["spec"]["providerID"]
    world.delete(SERVERS, "m")
    for policy in ("Never", "Always"):
        world.machine(recreatePolicy=policy)
        await world.run(120)
        reason, message = told(world)
        assert reason == "BlockedInstanceNotFound"
        assert before.rsplit("/", 1)[-1] in message and "delete the machine" in message
        assert not world.status(MACHINES, "m")["ready"]
        assert machine(world)["spec"]["providerID"] == before
        assert not any(name in ("server m", "port m-0") for name in world.there())
    world.delete(MACHINES, "m")
    await world.settle(patience=20)
    assert not world.get(MACHINES, "m") and not world.get(SERVERS, "m")
    assert not [reason for _, reason, _, _ in world.cluster.events if reason == "LeftBehind"]


async def test_a_never_ready_machine_deletes_its_server_without_a_failure_report() -> None:
    world = Clusters(core=True)
    world.write(POOLS, "p", {"identityRef": IDENTITY, "maxIPs": 0})
    world.make()
    await world.run(60)
    world.machine(floatingIPPoolRef={"kind": POOLS.kind, "name": "p"})
    await world.run(90)
    assert machine(world)["spec"]["providerID"]
    assert told(world)[0] == "MaxIPsReached"
    assert not world.status(MACHINES, "m").get("initialization")
    world.delete(MACHINES, "m")
    await world.run(60)
    assert not world.get(MACHINES, "m")
    assert "server m" not in world.there()
    assert not [reason for _, reason, _, _ in world.cluster.events if reason == "LeftBehind"]


async def test_before_an_id_is_published_the_policy_decides_about_recreation() -> None:
    for policy, reason in (("Never", "BlockedInstanceNotFound"), ("Always", "Ready")):
        world = await clusters()
        world.machine(recreatePolicy=policy)
        await world.run(5)
        before = world.status(SERVERS, "m")["instanceID"]
        assert before and "providerID" not in machine(world)["spec"]
        world.clouds.remove("server", before)
        await world.run(400)
        assert told(world)[0] == reason
        await world.stop()


async def test_many_machines_are_created_and_deleted() -> None:
    world = await clusters(bastion=BASTION)
    for number in range(20):
        world.machine(f"m-{number}")
    await world.run(120)
    assert sum(name.startswith("server m-") for name in world.there()) == 20
    for number in range(5, 20):
        world.delete(MACHINES, f"m-{number}")
    await world.run(120)
    assert sum(name.startswith(("server m-", "port m-")) for name in world.there()) == 10
    assert len(world.names(MACHINES)) == 5
    assert world.told()[0] == "Ready"


# Deletion.


async def test_a_machine_is_deleted_with_its_server_and_reports_its_wait() -> None:
    world = await made()
    world.clouds.fail["look"] = TransientCloudError("CredentialsMissing", "there is no Secret", sure=True)
    world.delete(MACHINES, "m")
    await world.run(60)
    assert told(world)[0] == "CredentialsMissing"
    world.machine(credentialsLostPolicy="Detach")
    await world.run(60)
    assert not world.get(MACHINES, "m") and not world.get(SERVERS, "m")
    assert {"server m", "port m-0"} <= set(world.there())


async def test_a_kill_at_every_write_ends_with_one_server() -> None:
    async def end(world: Clusters) -> None:
        await world.ready(MACHINES, "m")
        assert [name for name in world.there() if "m" in name][-1:] == ["server m"]
        assert world.one("server").id == world.status(MACHINES, "m")["instanceID"]

    await killed_everywhere(clusters, lambda world: world.machine(), end)


async def test_a_deletion_killed_at_every_write_leaves_no_resources() -> None:
    async def end(world: Clusters) -> None:
        assert not world.get(MACHINES, "m") and not world.get(SERVERS, "m")
        assert not any(name.startswith(("server", "port m")) for name in world.there())

    await killed_everywhere(made, lambda world: world.delete(MACHINES, "m"), end)


async def test_a_deletion_of_all_objects_at_any_time_leaves_nothing() -> None:
    for seconds in (0.1, 1, 3, 6, 9, 12, 20, 30):
        world = Clusters()
        world.make(bastion=BASTION)
        world.machine("cp", control_plane=True)
        world.machine("m")
        await world.run(seconds)
        for kind, name in ((CLUSTERS, "c"), (MACHINES, "cp"), (MACHINES, "m")):
            world.delete(kind, name)
        await world.settle()
        assert world.there() == [], seconds
        assert not any(world.names(kind) for kind in (CLUSTERS, MACHINES, SERVERS)), seconds
        await world.stop()
