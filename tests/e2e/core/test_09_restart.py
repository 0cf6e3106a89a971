"""A virtual machine keeps running and reachable while the switch, routers and the rest of its data path restart."""

from __future__ import annotations

import json

import pytest
from faults.restarts import DATA_PATH, SWITCH, restart_in_turn
from full import FullCloud
from harness import eventually
from vms import Vms

from stackwright.smoke.icmp import ping


@pytest.fixture(autouse=True)
def _ready(full_cloud: FullCloud) -> None:
    """Runs after any state of an earlier test."""
    full_cloud.wait_ready()


def test_vms_keep_running_and_reachable_while_pods_are_restarted_in_turn(full_cloud: FullCloud, vms: Vms) -> None:
    restart_in_turn(full_cloud, vms, [each for each in full_cloud.workloads() if each.name in DATA_PATH])


def test_after_that_the_cloud_still_does_all_it_did(full_cloud: FullCloud, vms: Vms) -> None:
    eventually(lambda: {agent.is_alive for agent in vms.sdk.network.agents()} == {True}, limit=120, pause=2)
    eventually(lambda: {s.state for s in vms.sdk.compute.services()} == {"up"}, limit=120, pause=2)
    assert vms.ssh(vms.demo, "hostname") == "demo"
    uuid = vms.ssh(vms.demo, "wget -q -O - http://169.254.169.254/openstack/latest/meta_data.json")
    assert vms.demo.id in uuid


def test_a_tap_that_went_down_is_set_up_again(full_cloud: FullCloud, vms: Vms) -> None:
    """A tap goes down if vswitchd and libvirt write its flags concurrently."""
    port = next(vms.sdk.network.ports(device_id=vms.demo.id))
    node = vms.server(vms.demo).compute_host
    pods = full_cloud.pods("-l", f"application={SWITCH}").values()
    switch = next(pod["metadata"]["name"] for pod in pods if pod["spec"]["nodeName"] == node)
    words = ("exec", "-n", full_cloud.namespace, switch, "-c", "vswitchd", "--")
    tap = f"tap{port.id[:11]}"

    def flags(*first: str) -> list[str]:
        """After other commands in the same shell: the tap may be set up again before the next command begins."""
        script = " && ".join([*first, f"ip -json link show dev {tap}"])
        (link,) = json.loads(full_cloud.kubectl(*words, "sh", "-c", script))
        return list(link["flags"])

    assert "UP" not in flags(f"ip link set dev {tap} down")
    eventually(lambda: "UP" in flags(), limit=20)
    eventually(lambda: ping(vms.demo.floating), limit=20)
