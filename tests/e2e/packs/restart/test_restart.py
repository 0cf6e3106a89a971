"""Virtual machines keep running and reachable while all of the cloud's pods are restarted in turn."""

from __future__ import annotations

import pytest
from faults.restarts import SWITCH, restart_in_turn
from full import FullCloud
from harness import eventually
from vms import Vms


@pytest.fixture(autouse=True)
def _ready(full_cloud: FullCloud) -> None:
    """Runs after any state of an earlier test."""
    full_cloud.wait_ready()


def test_vms_keep_running_and_reachable_while_pods_are_restarted_in_turn(full_cloud: FullCloud, vms: Vms) -> None:
    restart_in_turn(full_cloud, vms, list(full_cloud.workloads()))


def test_a_port_without_its_device_is_deleted_too(full_cloud: FullCloud) -> None:
    """Such a port would continue to receive packets for its address."""
    pod, name = next(iter(full_cloud.pods("-l", f"application={SWITCH}").values()))["metadata"]["name"], "tapgone"
    inside = ("exec", "-n", full_cloud.namespace, pod, "-c", "vswitchd", "--")
    full_cloud.kubectl(*inside, "ip", "tuntap", "add", name, "mode", "tap")
    full_cloud.kubectl(*inside, "ovs-vsctl", "add-port", "br-int", name)
    full_cloud.kubectl(*inside, "ip", "link", "del", name)
    ports = (*inside, "ovs-vsctl", "list-ports", "br-int")
    assert name in full_cloud.kubectl(*ports)
    eventually(lambda: name not in full_cloud.kubectl(*ports), limit=120, pause=2)
