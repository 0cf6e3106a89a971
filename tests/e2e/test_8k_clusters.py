"""Clusters in the real cloud, by a user who is a member of a project: made of an example, changed, broken, gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from full import FullCloud
from harness import eventually
from infra import Infra, example, project
from storage import Storage
from vms import Vm

CLUSTERS, MACHINES, SERVERS = "openstackclusters", "openstackmachines", "openstackservers"
BASTION = "shop-bastion"
WORKERS = ("worker-1", "worker-2", "worker-3")
KEEPS = ("server", "port", "ip", "group", "network", "subnet", "router")


@pytest.fixture(scope="module")
def infra(storage_cloud: FullCloud, storage: Storage) -> Iterator[Infra]:
    with project(storage_cloud, storage.vms) as made:
        yield made


def cluster(**spec: Any) -> dict[str, Any]:
    """That of the example, with these changes."""
    made = example("cluster")[0]
    return {**made, "spec": {**made["spec"], **spec}}


def worker(name: str) -> dict[str, Any]:
    made = example("cluster")[2]
    return {**made, "metadata": {**made["metadata"], "name": name}}


def bastion_address(infra: Infra) -> str:
    return str(infra.status(CLUSTERS, "shop")["bastion"]["floatingIP"])


def reached(infra: Infra, storage: Storage) -> None:
    """The bastion logs one in, at its floating IP."""
    where = Vm(infra.status(SERVERS, BASTION)["instanceID"], "", bastion_address(infra))
    eventually(lambda: storage.vms.ssh(where, "hostname"), limit=180, pause=1)


def bastion_ready(infra: Infra) -> float:
    return eventually(lambda: infra.told(CLUSTERS, "shop", "BastionReady") == "Done", limit=240, pause=1)


def test_the_example_becomes_a_cluster_with_bastion_and_machines(infra: Infra, storage: Storage) -> None:
    plan = infra.cloud.stackwright("plan", "--file", "examples/cluster.yaml", code=2)
    assert "network k8s-clusterapi-cluster-demo-shop" in plan
    infra.cloud.stackwright("apply", "--file", "examples/cluster.yaml")
    print(f"the cluster is ready after {infra.ready(CLUSTERS, 'shop'):.0f} s")
    print(
        f"its machines {max(infra.ready(MACHINES, name) for name in ('shop-control-plane', 'shop-worker')):.0f} s later"
    )
    print(f"its bastion {bastion_ready(infra):.0f} s later")
    reached(infra, storage)
    status = infra.status(CLUSTERS, "shop")
    address = infra.sdk.network.get_ip(status["apiServerFloatingIP"]["id"])
    eventually(lambda: bool(infra.sdk.network.get_ip(address.id).port_id), limit=30)
    port = infra.sdk.network.get_port(infra.sdk.network.get_ip(address.id).port_id)
    assert port.device_id == infra.status(MACHINES, "shop-control-plane")["instanceID"]
    shown = infra.cloud.stackwright("servers", "-n", "demo")
    for part in (
        "OpenStackCluster demo/shop",
        "OpenStackMachine demo/shop-worker",
        address.floating_ip_address,
        "router",
    ):
        assert part in shown


def test_machines_are_added_and_taken_away_by_a_loop(infra: Infra) -> None:
    before = infra.there()
    for name in WORKERS:
        infra.cloud.apply(worker(name))
    for name in WORKERS:
        infra.ready(MACHINES, name)
    assert sorted(what for what, _ in infra.there() - before) == sorted(("port", "server") * len(WORKERS))
    for name in WORKERS:
        infra.delete(MACHINES, name)
    infra.only(before)
    assert infra.names(SERVERS) == {"shop-control-plane", "shop-worker", BASTION}


def test_a_machine_is_made_once_and_cannot_be_another(infra: Infra) -> None:
    said = infra.kubectl(
        "patch", f"{MACHINES}.infrastructure.cluster.x-k8s.io", "shop-worker",
        "--type=merge", "-p", '{"spec": {"flavor": "m1.small"}}', code=1,
    )  # fmt: skip
    assert "flavor" in said


def test_a_changed_bastion_is_another_server_at_the_same_address(infra: Infra) -> None:
    before, address = infra.status(SERVERS, BASTION)["instanceID"], bastion_address(infra)
    spec = example("cluster")[0]["spec"]["bastion"]["spec"]
    infra.patch(CLUSTERS, "shop", bastion={"spec": {**spec, "serverMetadata": [{"key": "for", "value": "visitors"}]}})
    eventually(lambda: infra.status(SERVERS, BASTION)["instanceID"] not in ("", before), limit=240, pause=1)
    bastion_ready(infra)
    assert bastion_address(infra) == address
    assert before not in {server.id for server in infra.sdk.compute.servers()}


@pytest.mark.long
def test_what_others_change_is_set_back_and_what_they_delete_is_told(infra: Infra) -> None:
    """All at once, as it is looked for once in three minutes."""
    net, compute = infra.sdk.network, infra.sdk.compute
    status = infra.status(CLUSTERS, "shop")
    (subnet,) = status["network"]["subnets"]
    group = status["workerSecurityGroup"]["id"]
    api, machine = status["apiServerFloatingIP"]["id"], infra.status(MACHINES, "shop-worker")["instanceID"]
    worker_port = next(net.ports(device_id=infra.status(MACHINES, "shop-control-plane")["instanceID"])).id
    name, router_name = status["network"]["name"], status["router"]["name"]
    rules = len(list(net.security_group_rules(security_group_id=group)))

    net.update_network(status["network"]["id"], name="others", is_admin_state_up=False)
    net.update_router(status["router"]["id"], name="others")
    net.update_subnet(subnet["id"], dns_nameservers=["192.0.2.1"])
    net.update_security_group(group, name="others")
    net.update_port(worker_port, name="others")
    net.update_ip(api, port_id=None)
    net.delete_security_group_rule(next(net.security_group_rules(security_group_id=group, direction="ingress")).id)
    added = net.create_security_group_rule(
        security_group_id=group, direction="ingress", ether_type="IPv4", protocol="icmp"
    ).id
    compute.delete_server(machine)

    start = time.monotonic()

    def seen(what: str, check: Any) -> None:
        eventually(check, limit=330, pause=2)
        print(f"{what}: after {time.monotonic() - start:.0f} s")

    seen("deleted machine", lambda: infra.told(MACHINES, "shop-worker") == "BlockedInstanceNotFound")
    assert infra.status(MACHINES, "shop-worker")["ready"] is False
    seen("network", lambda: net.get_network(status["network"]["id"]).name == name)
    seen("network that is up", lambda: net.get_network(status["network"]["id"]).is_admin_state_up)
    seen("router", lambda: net.get_router(status["router"]["id"]).name == router_name)
    seen("subnet", lambda: net.get_subnet(subnet["id"]).dns_nameservers == ["8.8.8.8"])
    seen("group", lambda: net.get_security_group(group).name == status["workerSecurityGroup"]["name"])
    seen("added rule", lambda: net.find_security_group_rule(added) is None)
    seen("rule", lambda: len(list(net.security_group_rules(security_group_id=group))) == rules)
    seen("floating IP", lambda: bool(net.get_ip(api).port_id))
    seen("port", lambda: net.get_port(worker_port).name != "others")


def test_a_disabled_bastion_goes_with_what_is_its_own(infra: Infra) -> None:
    before = infra.there()
    infra.patch(CLUSTERS, "shop", bastion={"enabled": False})
    eventually(lambda: BASTION not in infra.names(SERVERS), limit=120, pause=1)
    eventually(lambda: sorted(w for w, _ in before - infra.there()) == ["group", "ip", "port", "server"], 60, 1)
    assert infra.there() < before


def test_a_deleted_cluster_waits_for_its_machines_and_leaves_nothing(infra: Infra) -> None:
    infra.kubectl("delete", f"{CLUSTERS}.infrastructure.cluster.x-k8s.io", "shop", "--wait=false")
    eventually(lambda: "shop-control-plane" in str(infra.status(CLUSTERS, "shop")["conditions"]), limit=60)
    infra.delete(MACHINES)
    eventually(lambda: infra.names(CLUSTERS) == set(), limit=120, pause=1)
    infra.only(set())


@pytest.mark.parametrize(
    "seconds", [4, *(pytest.param(each, marks=pytest.mark.long) for each in (0, 1, 2, 3, 6, 9, 15, 25))]
)
def test_a_cluster_that_is_deleted_half_made_leaves_nothing(infra: Infra, seconds: int) -> None:
    infra.cloud.apply(cluster())
    time.sleep(seconds)
    print(f"after {seconds} s: {sorted(what for what, _ in infra.there())}")
    infra.delete(CLUSTERS, "shop")
    infra.only(set())


@pytest.mark.long
def test_the_operator_that_is_killed_makes_nothing_of_a_cluster_twice(infra: Infra) -> None:
    infra.cloud.apply(cluster())
    for _ in range(3):
        time.sleep(2)
        infra.kill_operator()
    infra.ready(CLUSTERS, "shop")
    bastion_ready(infra)
    found = [what for what, _ in infra.there()]
    wanted = {"network": 1, "subnet": 1, "router": 1, "group": 3, "ip": 2, "server": 1}
    assert {what: found.count(what) for what in wanted} == wanted
    infra.delete(CLUSTERS, "shop")
    infra.only(set())


@pytest.mark.long
def test_a_lost_address_at_which_the_api_was_promised_is_told_until_it_is_had_back(
    infra: Infra, storage: Storage
) -> None:
    infra.cloud.apply(cluster(bastion={"enabled": False}, recreatePolicy="Always"))
    infra.ready(CLUSTERS, "shop")
    api = infra.status(CLUSTERS, "shop")["apiServerFloatingIP"]
    network = infra.sdk.network.get_ip(api["id"]).floating_network_id
    infra.sdk.network.delete_ip(api["id"])
    told = eventually(lambda: infra.told(CLUSTERS, "shop") == "BlockedResourceNotFound", limit=330, pause=2)
    assert infra.told(CLUSTERS, "shop", "APIEndpointReady") == "BlockedResourceNotFound"
    mine = {"floating_ip_address": api["address"], "project_id": infra.sdk.current_project_id}
    again = storage.vms.sdk.network.create_ip(floating_network_id=network, **mine)
    infra.patch(CLUSTERS, "shop", apiServer={"floatingIP": api["address"]})
    back = eventually(lambda: infra.told(CLUSTERS, "shop") == "Ready", limit=120, pause=1)
    assert infra.status(CLUSTERS, "shop")["apiServerFloatingIP"] == {**api, "id": again.id}
    print(f"a deleted floating IP is told after {told:.0f} s; had back, the cluster is ready after {back:.0f} s")
    infra.delete(CLUSTERS, "shop")
    infra.only({("ip", again.id)})
    infra.sdk.network.delete_ip(again)
