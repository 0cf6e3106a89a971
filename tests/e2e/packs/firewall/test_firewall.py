"""The network of the local cluster beside a LAN and other containers; namespaces represent the machine.

lan 198.18.0.2 ═ lan0 198.18.0.1, machine, 198.19.0.1 other0 ═ 198.19.0.2 other
                          ║
                    the cluster's router ═ node1, node2
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from stackwright.local.config import BRIDGE_ADDRESS, MACHINE_ADDRESS, LocalCluster
from stackwright.local.host import network
from stackwright.local.kubernetes import flags

MACHINE, LAN, OTHER = "", "lan", "other"
ROUTER, BEYOND = "stackwright-router", "198.19.0.2"
NODES = LocalCluster.discover().nodes(2)
ONE, TWO = (node.netns for node in NODES)
LINKS = {LAN: ("lan0", "198.18.0"), OTHER: ("other0", "198.19.0")}
POD, VM, SERVICE = "10.244.2.7", "172.24.4.200", "10.96.0.1"
TENANT, GATEWAY = "tenant", "172.24.4.1"
USE = """
from stackwright.local.config import LocalCluster
from stackwright.local.host import network
from stackwright.local.node import network as node_network
from stackwright.local.node import power
nodes = LocalCluster.discover().nodes(2)
"""
CONNECT = """
network.ensure()
for node in nodes:
    if not node_network.exists(node):
        node_network.make(node)
for node in nodes:
    power.connect(node, nodes)
assert network.is_ready() and all(network.is_attached(node) for node in nodes)
"""
REMOVE = """
node_network.remove_all()
network.remove_all()
assert not network.remaining_links()
"""


@dataclass(frozen=True)
class World:
    """Namespaces of network and mounts, which exist as long as the process `pid`."""

    pid: int

    def run(self, *words: str, namespace: str = MACHINE, code: int | None = 0) -> str:
        inside = ["ip", "netns", "exec", namespace] if namespace else []
        command = ["nsenter", f"--target={self.pid}", "--net", "--mount", "--", *inside, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert code in (None, done.returncode), done.stderr
        return done.stdout + done.stderr

    def python(self, text: str) -> str:
        return self.run(sys.executable, "-c", USE + text)

    def reached(self, source: str, *addresses: str, port: int = 9) -> set[str]:
        """Addresses that respond, with a closed port; a firewall that drops packets gives no response."""

        def answers(address: str) -> bool:
            words = ("timeout", "3", "bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}")
            return "refused" in self.run(*words, namespace=source, code=None)

        with ThreadPoolExecutor() as pool:
            return {address for address, yes in zip(addresses, pool.map(answers, addresses), strict=True) if yes}

    def settings(self) -> set[str]:
        """Settings of the machine, without those of the cluster's links."""
        lines = self.run("sysctl", "-a", "--pattern", r"^net\.(ipv4\.(ip_forward|conf)|ipv6\.conf|bridge)", code=None)
        return {line for line in lines.splitlines() if line.startswith("net.") and ".sw-" not in line}


@pytest.fixture
def machine() -> Iterator[World]:
    """A machine that is no router, with the cluster's network."""
    # The namespaces of a running cluster would be in the table of mounts, below the new folder.
    others = """awk '$2 ~ "^/run/netns" {print $2}' /proc/self/mounts | tac | xargs -r -n1 umount -l"""
    own = "mount -t tmpfs none /run/netns && mount --make-shared /run/netns"
    script = f"{others} && {own} && echo ready && exec sleep infinity"
    command = [
        "unshare",
        "--net",
        "--mount",
        "--propagation=private",
        "--",
        "sh",
        "-c",
        f"mkdir -p /run/netns; {script}",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout
            assert holder.stdout.readline() == "ready\n"
            world = World(holder.pid)
            world.run("sysctl", "-qw", "net.ipv4.ip_forward=0")  # a new namespace inherits the machine's value
            world.run("ip", "link", "set", "lo", "up")
            for name, (link, net) in LINKS.items():
                world.run("ip", "netns", "add", name)
                world.run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
                world.run("ip", "address", "add", f"{net}.1/24", "dev", link)
                world.run("ip", "link", "set", link, "up")
                world.run("ip", "-n", name, "address", "add", f"{net}.2/24", "dev", "eth0")
                world.run("ip", "-n", name, "link", "set", "eth0", "up")
                world.run("ip", "-n", name, "route", "add", "default", "via", f"{net}.1")
            world.python(CONNECT)
            world.run("ip", "-n", TWO, "address", "add", f"{POD}/32", "dev", "lo")
            world.run("ip", "-n", TWO, "address", "add", f"{VM}/24", "dev", "ext0")
            world.run("ip", "-n", ONE, "address", "add", f"{SERVICE}/32", "dev", "lo")
            yield world
        finally:
            holder.kill()


def test_machine_and_nodes_reach_each_other(machine: World) -> None:
    inside = {NODES[1].address, POD, SERVICE, VM}
    assert machine.reached(MACHINE, *inside) == inside
    inside = {MACHINE_ADDRESS, NODES[1].address, NODES[1].tunnel_address, POD, VM}
    assert machine.reached(ONE, *inside) == inside


def test_a_tenant_reaches_the_ingress_of_nodes_and_nothing_else(machine: World) -> None:
    """Requests come from a virtual machine on the external network, or behind a router on it."""
    machine.run("ip", "-n", TWO, "address", "del", f"{VM}/24", "dev", "ext0")  # else it replies past the router
    machine.run("ip", "netns", "add", TENANT)
    machine.run("ip", "-n", ROUTER, "link", "add", "tenant0", "type", "veth", "peer", "name", "eth0", "netns", TENANT)
    machine.run("ip", "-n", ROUTER, "link", "set", "tenant0", "master", "sw-ext0", "up")
    machine.run("ip", "-n", TENANT, "address", "add", "172.24.4.201/24", "dev", "eth0")
    machine.run("ip", "-n", TENANT, "link", "set", "eth0", "up")
    machine.run("ip", "-n", TENANT, "route", "add", "default", "via", GATEWAY)
    nodes, others = {node.address for node in NODES}, {MACHINE_ADDRESS, BRIDGE_ADDRESS, GATEWAY, POD, SERVICE}
    assert not machine.reached(TENANT, *nodes, *others)
    for port in (80, 443):
        assert machine.reached(TENANT, *nodes, *others, port=port) == nodes
    for source in (MACHINE, ONE):
        assert machine.reached(source, "172.24.4.201"), "its answers arrive"


@pytest.mark.parametrize("router", [False, True])
def test_external_hosts_do_not_reach_the_cluster(machine: World, router: bool) -> None:
    """The same if other software made the machine a router."""
    machine.run("sysctl", "-qw", f"net.ipv4.ip_forward={int(router)}")
    machine.run("ip", "-n", TWO, "route", "add", "198.18.0.0/15", "via", MACHINE_ADDRESS)
    for outside, (_, net) in LINKS.items():
        itself = f"{net}.1"
        assert machine.reached(outside, itself, MACHINE_ADDRESS, NODES[1].address, POD, SERVICE, VM) == {itself}
    machine.run("nft", "delete", "table", "ip", network.NFT_TABLE)
    without = {MACHINE_ADDRESS, *([NODES[1].address, POD] if router else [])}
    assert machine.reached(LAN, MACHINE_ADDRESS, NODES[1].address, POD) == without


def test_the_machine_forwards_for_others_as_it_did(machine: World) -> None:
    """The machine forwards nothing until another program enables it."""
    assert not machine.reached(LAN, BEYOND)
    machine.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    assert machine.reached(LAN, BEYOND)
    machine.python(CONNECT)
    assert machine.reached(LAN, BEYOND)


def test_no_setting_of_the_machine_is_changed_and_no_rule_remains(machine: World) -> None:
    machine.python(REMOVE)
    before = machine.settings()
    assert "net.ipv4.ip_forward = 0" in before
    machine.python(CONNECT)
    assert machine.settings() == before
    assert "sw-machine" in machine.run("ip", "route")
    machine.python(REMOVE)
    assert machine.settings() == before
    assert "10." not in machine.run("ip", "route")
    assert "stackwright" not in machine.run("nft", "list", "tables") + machine.run("ip", "netns")


def test_existing_rules_are_kept_and_missing_ones_are_created(machine: World) -> None:
    links = machine.run("ip", "-n", ROUTER, "link")
    machine.python(CONNECT)
    assert machine.run("ip", "-n", ROUTER, "link") == links
    machine.run("ip", "link", "del", "sw-machine")
    machine.run("ip", "-n", ROUTER, "link", "set", "sw-node2", "nomaster")
    machine.run("nft", "delete", "table", "ip", network.NFT_TABLE)
    machine.python(CONNECT)
    assert machine.reached(MACHINE, POD)
    machine.run("ip", "netns", "del", ROUTER)
    machine.python(CONNECT)
    assert machine.reached(MACHINE, NODES[1].address)


def test_bridges_of_an_older_version_are_replaced(machine: World) -> None:
    machine.python(REMOVE)
    machine.run("ip", "link", "add", "sw-br0", "type", "bridge")
    machine.run("ip", "address", "add", f"{MACHINE_ADDRESS}/24", "dev", "sw-br0")
    machine.run("ip", "link", "set", "sw-br0", "up")
    machine.python(CONNECT)
    assert machine.reached(MACHINE, NODES[0].address)


def test_nodes_reach_external_hosts_and_the_machine_forwards_nothing(machine: World) -> None:
    assert not machine.reached(ONE, "198.18.0.2")
    inside = ["nsenter", f"--target={machine.pid}", "--net", "--mount", "--"]
    with subprocess.Popen([*inside, *flags.uplink(network.NAMESPACE)], stderr=subprocess.DEVNULL) as uplink:
        try:
            end = time.monotonic() + 20
            while "default" not in machine.run("ip", "-n", ROUTER, "route"):
                assert time.monotonic() < end
                time.sleep(0.1)
            assert machine.reached(ONE, "198.18.0.2", BEYOND) == {"198.18.0.2", BEYOND}
            assert machine.reached(TWO, "198.18.0.2")
            assert "ip_forward = 0" in machine.run("sysctl", "net.ipv4.ip_forward")
            assert machine.reached(MACHINE, POD), "mounts of namespaces are still there"
        finally:
            uplink.kill()
