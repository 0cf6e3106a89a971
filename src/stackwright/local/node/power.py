"""Switches a node off without a shutdown, as a power failure does, and on again.

A node is on if its namespaces exist and have processes. A node that is off starts like a machine: with an empty /run, a
new network and no previous process. Its disk, `<state>/nodes/<node>`, is kept.
"""

from __future__ import annotations

import shutil

from stackwright.local.config import LocalCluster, Node
from stackwright.local.host import cgroups, mounts, network, services
from stackwright.local.node import namespaces
from stackwright.local.node import network as node_network


def is_on(node: Node) -> bool:
    return namespaces.ready(node) and node_network.exists(node) and bool(cgroups.processes(node.cgroup))


def cut(cluster: LocalCluster, node: Node) -> None:
    """Kill every process of the node, including its virtual machines, without a clean end; remove nothing."""
    programs = [name for name in services.names(cluster) if name.startswith(f"{node.name}-")]
    for name in programs:
        services.restart_no_more(cluster, name)
    kill(node)
    for name in programs:
        services.end(services.folder(cluster, name))
    kill(node)  # processes that the supervisor was just starting


def kill(node: Node) -> None:
    for group in (node.cgroup, node.vm_cgroup):
        cgroups.kill(group)


def on(cluster: LocalCluster, node: Node, nodes: list[Node]) -> None:
    """Start a node after `cut`. The first start of a node is `boot`, before it has programs."""
    boot(cluster, node)
    connect(node, nodes)
    for name in services.names(cluster):
        if name.startswith(f"{node.name}-"):
            services.order_start(cluster, name)


def boot(cluster: LocalCluster, node: Node) -> None:
    """Start a node without its programs."""
    namespaces.remove(node)
    mounts.unmount(mounts.below(node.run))
    shutil.rmtree(node.run, ignore_errors=True)
    node_network.make(node)
    namespaces.make(cluster, node)
    ensure_groups(node)


def ensure_groups(node: Node) -> None:
    """Create the node's cgroups: in version 1, no process can enter a group without a cpuset."""
    for group in (node.cgroup, node.vm_cgroup):
        cgroups.ensure(group)


def connect(node: Node, nodes: list[Node]) -> None:
    network.attach(node)
    node_network.ensure_routes(node, nodes)
