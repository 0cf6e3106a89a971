"""`down`: stop all processes, undo all changes, keep the data. It works on any incomplete or broken cluster.

The order is: programs that would start pods again, pods and virtual machines (by SIGTERM), all other processes in the
cgroups, kernel objects (mounts, namespaces, links, rules, cgroups), and, only on request, the data.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from stackwright.local import home
from stackwright.local.cluster.leftovers import leftovers
from stackwright.local.commands import LocalError, Report
from stackwright.local.config import CGROUP, VM_CGROUP, LocalCluster
from stackwright.local.host import cgroups, hosts_file, kernel, mounts, network, services, supervisor
from stackwright.local.node import network as node_network
from stackwright.local.node.pods import end_pods

Phase = Callable[[str], AbstractContextManager[Report]]


def down(cluster: LocalCluster, phase: Phase, *, purge: bool = False, cache: bool = False) -> list[Path]:
    """Returns the content of the deleted folders that is not ours and remains."""
    gone = folders(cluster, purge=purge, cache=cache)
    for each in gone.values():
        each.check()
    with phase("Stop pods"):
        stop_agents(cluster)
        end_pods()
    with phase("Stop the control plane"):
        # Before etcd: without etcd, the API server would take its full timeout to end.
        services.end(services.folder(cluster, "kube-apiserver"))
        supervisor.stop_all(cluster)
        end_processes()
    with phase("Clean up mounts, network, cgroups"):
        clean(cluster)
    kept = list[Path]()
    for title, each in gone.items():
        with phase(title):
            kept += each.remove()
    if left := leftovers(cluster):
        raise LocalError(f"Parts of the cluster remain; run `stackwright down` again, or remove them:\n{left}")
    return kept


def folders(cluster: LocalCluster, *, purge: bool, cache: bool) -> dict[str, home.Folder]:
    """The folders that `down` deletes, by their current content."""
    found = {"Delete data": home.home(cluster)} if purge else {}
    return found | ({"Delete the cache": home.cache(cluster)} if cache else {})


def stop_agents(cluster: LocalCluster) -> None:
    """Stop the programs that start pods, without a wait: a kubelet has no data to lose."""
    for name in services.names(cluster):
        if name.endswith(("-kubelet", "kube-controller-manager", "kube-scheduler")):
            services.order_stop(cluster, name)


def end_processes() -> None:
    if alive := cgroups.kill() | cgroups.kill(VM_CGROUP):
        names = ", ".join(str(pid) for pid in sorted(alive))
        raise LocalError(f"These processes do not end after SIGKILL; they hang in the kernel: {names}")


def clean(cluster: LocalCluster) -> None:
    hosts_file.remove()
    mounts.unmount(mounts.cluster_mounts(cluster))
    node_network.remove_all()
    network.remove_all()
    kernel.restore(cluster)
    for group in (CGROUP, VM_CGROUP):
        cgroups.remove(group)
    shutil.rmtree(cluster.run, ignore_errors=True)
