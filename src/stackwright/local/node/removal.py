"""Remove a node with its data."""

from __future__ import annotations

import shutil

from stackwright.local.commands import Report, quiet
from stackwright.local.config import LocalCluster, Node
from stackwright.local.host import cgroups, mounts, services
from stackwright.local.node import namespaces, network, power
from stackwright.local.node.pods import end_pods


def remove_node(cluster: LocalCluster, node: Node, report: Report = quiet) -> None:
    report(f"{node.name} leaves")
    for name in services.names(cluster):
        if name.startswith(f"{node.name}-") and not name.endswith("-containerd"):
            services.stop(cluster, name)
    end_pods((node.cgroup, node.vm_cgroup))
    services.stop(cluster, f"{node.name}-containerd")
    power.kill(node)
    namespaces.remove(node)
    mounts.unmount(
        [p for p in mounts.cluster_mounts(cluster) if p.is_relative_to(node.home) or p.is_relative_to(node.run)]
    )
    network.remove(node)
    for group in (node.cgroup, node.vm_cgroup):
        cgroups.remove(group)
    shutil.rmtree(node.run, ignore_errors=True)
    shutil.rmtree(node.home, ignore_errors=True)
