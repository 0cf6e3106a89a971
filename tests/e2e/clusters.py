"""OpenStackClusters for tests: the example with changes, and its bastion."""

from __future__ import annotations

from typing import Any

from harness import eventually
from infra import Infra, example
from storage import Storage
from vms import Vm

CLUSTERS, MACHINES, SERVERS = "openstackclusters", "openstackmachines", "openstackservers"
BASTION = "shop-bastion"


def cluster(**spec: Any) -> dict[str, Any]:
    """The cluster of the example, with these changes."""
    made = example("cluster")[0]
    return {**made, "spec": {**made["spec"], **spec}}


def worker(name: str) -> dict[str, Any]:
    made = example("cluster")[2]
    return {**made, "metadata": {**made["metadata"], "name": name}}


def bastion_address(member: Infra) -> str:
    return str(member.status(CLUSTERS, "shop")["bastion"]["floatingIP"])


def reached(member: Infra, storage: Storage) -> None:
    """Wait for a login on the bastion at its floating IP."""
    where = Vm(member.status(SERVERS, BASTION)["instanceID"], "", bastion_address(member))
    eventually(lambda: bool(storage.vms.ssh(where, "hostname")), limit=180, pause=1)


def bastion_ready(member: Infra) -> float:
    return eventually(lambda: member.told(CLUSTERS, "shop", "BastionReady") == "Done", limit=240, pause=1)


def make_example(member: Infra, storage: Storage) -> None:
    """Create the example: a cluster with machines and a bastion that accepts a login."""
    plan = member.cloud.stackwright("plan", "--file", "examples/cluster.yaml", code=2)
    assert "network k8s-clusterapi-cluster-demo-shop" in plan
    member.cloud.stackwright("apply", "--file", "examples/cluster.yaml")
    print(f"the cluster is ready after {member.ready(CLUSTERS, 'shop'):.0f} s")
    machines = max(member.ready(MACHINES, name) for name in ("shop-control-plane", "shop-worker"))
    print(f"its machines {machines:.0f} s later")
    print(f"its bastion {bastion_ready(member):.0f} s later")
    reached(member, storage)
    status = member.status(CLUSTERS, "shop")
    address = member.sdk.network.get_ip(status["apiServerFloatingIP"]["id"])
    eventually(lambda: bool(member.sdk.network.get_ip(address.id).port_id), limit=30)
    port = member.sdk.network.get_port(member.sdk.network.get_ip(address.id).port_id)
    assert port.device_id == member.status(MACHINES, "shop-control-plane")["instanceID"]
    shown = member.cloud.stackwright("servers", "-n", "demo")
    for part in (
        "OpenStackCluster demo/shop",
        "OpenStackMachine demo/shop-worker",
        address.floating_ip_address,
        "router",
    ):
        assert part in shown


def delete_example(member: Infra) -> None:
    """Delete the example: the cluster waits for its machines, and nothing remains."""
    member.kubectl("delete", f"{CLUSTERS}.infrastructure.cluster.x-k8s.io", "shop", "--wait=false")
    eventually(lambda: "shop-control-plane" in str(member.status(CLUSTERS, "shop")["conditions"]), limit=60)
    member.delete(MACHINES)
    eventually(lambda: member.names(CLUSTERS) == set(), limit=120, pause=1)
    member.only(set())
