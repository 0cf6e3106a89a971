"""A node's power: cut, as when somebody pulls the cable, and on again.

A node is on when its namespaces are there and something lives in them. One that is not on is started from nothing, as
a machine is: with an empty /run, a new network, and no process of its former life. Its disk stays, that is
`<state>/nodes/<node>`.
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
    """Kill every process of the node, its virtual machines included. Nothing is asked to end, nothing removed."""
    programs = [name for name in services.names(cluster) if name.startswith(f"{node.name}-")]
    for name in programs:
        services.restart_no_more(cluster, name)
    kill(node)
    for name in programs:
        services.end(services.folder(cluster, name))
    kill(node)  # one that the supervisor was just starting


def kill(node: Node) -> None:
    for group in (node.cgroup, node.vm_cgroup):
        cgroups.kill(group)


def on(cluster: LocalCluster, node: Node, nodes: list[Node]) -> None:
    """Start a node after `cut`. The first start of all is `boot`, before there are programs."""
    boot(cluster, node)
    connect(node, nodes)
    for name in services.names(cluster):
        if name.startswith(f"{node.name}-"):
            services.order_start(cluster, name)


def boot(cluster: LocalCluster, node: Node) -> None:
    """All but the programs."""
    namespaces.remove(node)
    mounts.unmount(mounts.below(node.run))
    shutil.rmtree(node.run, ignore_errors=True)
    node_network.make(node)
    namespaces.make(cluster, node)
    ensure_groups(node)


def ensure_groups(node: Node) -> None:
    """Made here, because in version 1 no process can enter a group of which nobody has set the cpuset."""
    for group in (node.cgroup, node.vm_cgroup):
        cgroups.ensure(group)


def connect(node: Node, nodes: list[Node]) -> None:
    network.attach(node)
    node_network.ensure_routes(node, nodes)
