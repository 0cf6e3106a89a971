"""A node with a virtual machine and a router is removed permanently, and a new node with its name joins."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from full import FullCloud
from harness import FORGET_LIMIT, eventually
from two_nodes import host
from vms import DEMO, Vm, Vms

from stackwright.smoke.icmp import ping

JOIN_LIMIT = 300
L3_AGENT = "neutron-l3-agent"


@pytest.fixture(scope="module")
def stranded(full_cloud: FullCloud, vms: Vms) -> Iterator[Vm]:
    """A virtual machine whose node was removed; the same node had the demo's router."""
    full_cloud.stackwright("up", "--nodes", "2", limit=900)
    full_cloud.wait_ready()
    joined(vms)
    vm = vms.begin("stranded", "node2")
    try:
        vms.reached(vm)
        assert host(vms, vm) == "node2"
        move_router(vms, "node2")
        eventually(lambda: ping(vms.demo.floating), limit=60)
        full_cloud.stackwright("up", "--nodes", "1", "--no-cloud", "--yes", limit=900)
        yield vm
    finally:
        vms.delete(vm)


def joined(vms: Vms) -> None:
    """Wait until the cloud has both nodes."""
    wanted = {"node1", "node2"}
    eventually(lambda: {each.name for each in hypervisors(vms) if each.state == "up"} == wanted, JOIN_LIMIT, pause=2)
    eventually(lambda: {each.host for each in l3_agents(vms) if each.is_alive} == wanted, JOIN_LIMIT, pause=2)


def hypervisors(vms: Vms) -> list[Any]:
    return list(vms.sdk.compute.hypervisors())


def l3_agents(vms: Vms) -> list[Any]:
    return list(vms.sdk.network.agents(binary=L3_AGENT))


def router_hosts(vms: Vms) -> list[str]:
    router = vms.sdk.network.find_router(DEMO, ignore_missing=False)
    return [str(agent.host) for agent in vms.sdk.network.routers_hosting_l3_agents(router)]


def move_router(vms: Vms, node: str) -> None:
    network = vms.sdk.network
    router = network.find_router(DEMO, ignore_missing=False)
    for agent in network.routers_hosting_l3_agents(router):
        network.remove_router_from_agent(agent.id, router)
    (agent,) = (each for each in l3_agents(vms) if each.host == node)
    network.add_router_to_agent(agent, router)
    assert router_hosts(vms) == [node]


def kept_for(cloud: FullCloud) -> str:
    """The reason why Nova keeps an agent; empty if it keeps none."""
    entry = cloud.condition("Agents", "novas.stackwright.dev/nova")
    return entry["message"] if entry["reason"] == "AgentsLeft" else ""


def test_the_agents_of_a_removed_node_are_forgotten_but_not_the_service_of_a_machine(
    full_cloud: FullCloud, vms: Vms, stranded: Vm
) -> None:
    start = time.monotonic()
    gone = {"node1"}
    eventually(lambda: {str(each.host) for each in vms.sdk.network.agents()} == gone, FORGET_LIMIT, pause=2)
    print(f"network agents were forgotten after {time.monotonic() - start:.0f} s")
    assert router_hosts(vms) == ["node1"]
    eventually(lambda: ping(vms.demo.floating), limit=60)
    eventually(lambda: "nova-compute on node2: server stranded" in kept_for(full_cloud), limit=120, pause=2)
    assert full_cloud.computes() == {"node1": "up", "node2": "down"}
    full_cloud.wait_ready()


def test_the_compute_service_is_forgotten_with_its_resource_provider_when_the_machine_is_deleted(
    full_cloud: FullCloud, vms: Vms, stranded: Vm
) -> None:
    before = vms.providers()
    assert len(before) == 2
    vms.delete(stranded)
    start = time.monotonic()
    eventually(lambda: full_cloud.hosts() == {"node1"}, limit=180, pause=2)
    print(f"the compute service was forgotten after {time.monotonic() - start:.0f} s")
    assert len(vms.providers()) == 1
    eventually(lambda: not kept_for(full_cloud), limit=30)
    status = full_cloud.get("novas.stackwright.dev", "nova", "-n", full_cloud.namespace)["status"]
    assert status["agents"] == ["nova-compute@node1"]


def test_a_new_node_of_that_name_joins_with_an_identity_of_its_own(
    full_cloud: FullCloud, vms: Vms, stranded: Vm
) -> None:
    before = vms.providers()
    full_cloud.stackwright("up", "--nodes", "2", limit=900)
    full_cloud.wait_ready()
    joined(vms)
    assert len(vms.providers() - before) == 1
    vm = vms.begin("joined", "node2")
    try:
        vms.reached(vm)
        assert host(vms, vm) == "node2"
    finally:
        vms.delete(vm)
