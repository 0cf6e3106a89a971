"""Ends of the machine: `down`, a power cut of its nodes, a reboot; one `up` restores everything."""

from __future__ import annotations

from collections.abc import Callable

from full import FullCloud
from vms import Vms

from stackwright.local.cluster import teardown
from stackwright.local.config import CGROUP, VM_CGROUP
from stackwright.local.host import cgroups
from stackwright.local.node import power


def down(cloud: FullCloud) -> None:
    cloud.stackwright("down", limit=200)


def power_cut(cloud: FullCloud) -> None:
    for node in cloud.nodes:
        power.cut(cloud.cluster, node)


def reboot(cloud: FullCloud) -> None:
    """A reboot: no process gets a signal before it ends, and no kernel state remains."""
    for group in (CGROUP, VM_CGROUP):
        cgroups.kill(group)
    teardown.clean(cloud.cluster)


def brought_back(cloud: FullCloud, vms: Vms, end: Callable[[FullCloud], None]) -> None:
    """One `up` restores the cloud and its virtual machine."""
    cloud.stackwright("up", limit=1500)
    server, project = vms.demo.id, cloud.token()["project_id"]
    end(cloud)
    said = cloud.stackwright("up", limit=1500)
    print(said)
    assert "✗" not in said
    assert "skipped" not in said
    # Without another wait: the end of `up` promises that all of this works.
    assert cloud.token()["project_id"] == project
    assert vms.demo.id == server, "the same machine"
    assert vms.ssh(vms.demo, "hostname") == "demo"
