"""The full cloud, with its virtual machine, after the machine's ends: `down`, a power cut of its node, a reboot."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from full import FullCloud
from vms import Vms

from stackwright.local import cgroups, power, teardown
from stackwright.local.config import CGROUP, VM_CGROUP

pytestmark = pytest.mark.long


def down(cloud: FullCloud) -> None:
    cloud.stackwright("down", limit=200)


def power_cut(cloud: FullCloud) -> None:
    for node in cloud.nodes:
        power.cut(cloud.cluster, node)


def reboot(cloud: FullCloud) -> None:
    """No process is asked to end, and nothing that the kernel held is left."""
    for group in (CGROUP, VM_CGROUP):
        cgroups.kill(group)
    teardown.clean(cloud.cluster)


@pytest.mark.parametrize("end", [down, power_cut, reboot])
def test_one_up_brings_the_cloud_and_its_virtual_machine_back(
    full_cloud: FullCloud, vms: Vms, end: Callable[[FullCloud], None]
) -> None:
    full_cloud.stackwright("up", limit=1500)
    server, project = vms.demo.id, full_cloud.token()["project_id"]
    end(full_cloud)
    said = full_cloud.stackwright("up", limit=1500)
    print(said)
    assert "✗" not in said
    assert "skipped" not in said
    # At once, with no second wait: `up` claims that all of this works.
    assert full_cloud.token()["project_id"] == project
    assert vms.demo.id == server, "the same machine"
    assert vms.ssh(vms.demo, "hostname") == "demo"
