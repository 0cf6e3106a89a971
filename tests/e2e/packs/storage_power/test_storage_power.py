"""Storage after a power cut: nothing is lost."""

from __future__ import annotations

import time

import pytest
from harness import eventually
from storage import Storage
from vms import Vm

from stackwright.local.node import power

pytestmark = pytest.mark.usefixtures("undisturbed")

RETURN_LIMIT = 600


def test_after_a_power_failure_all_flushed_data_exists(storage: Storage, writer_vm: tuple[Vm, str]) -> None:
    """Of the node that has Ceph, and with it all of the cloud's own services and the machine."""
    vm, device = writer_vm
    cloud, cluster = storage.cloud, storage.cloud.cluster
    sum_ = storage.fill(vm, device)
    (pod,) = cloud.pods("-l", "application=ceph,component=osd").values()
    nodes = cloud.nodes
    (node,) = [each for each in nodes if each.name == pod["spec"]["nodeName"]]
    power.cut(cluster, node)
    power.on(cluster, node, nodes)
    start = time.monotonic()
    eventually(lambda: bool(storage.vms.ssh(vm, "hostname")), RETURN_LIMIT, pause=1)  # the API is away, too
    print(f"logged in again {time.monotonic() - start:.0f} s after power came back")
    assert storage.sum(vm, device) == sum_
    cloud.wait_ready(limit=RETURN_LIMIT)
    storage.volume("after-power")
