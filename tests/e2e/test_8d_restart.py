"""Virtual machines keep running and reachable while the cloud's pods are restarted in turn."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from full import FullCloud, Workload
from harness import eventually
from load import Load, targets
from pinger import CHANCE, Pinger
from vms import Vms

from stackwright.local import cgroups
from stackwright.smoke.icmp import ping

SWITCH = "openvswitch"
DATA_PATH = {"libvirt", "nova-compute", SWITCH, "neutron-ovs-agent", "neutron-l3-agent", "neutron-dhcp-agent"}
SWITCH_LIMIT = 30
READY_LIMIT = 300


@pytest.fixture(autouse=True)
def _ready(full_cloud: FullCloud) -> None:
    """Whatever a test before left behind."""
    full_cloud.wait_ready()


def machines(cloud: FullCloud) -> set[int]:
    """Processes of virtual machines, on all nodes."""
    found = set().union(*(cgroups.processes(node.vm_cgroup) for node in cloud.nodes))
    return {pid for pid in found if Path(f"/proc/{pid}/comm").read_text().startswith("qemu")}


def restart(cloud: FullCloud, workload: Workload) -> None:
    """Delete all pods of a workload and wait until as many new ones are ready."""
    before = cloud.pods("-l", workload.selector)
    assert before, f"{workload} has no pod"
    names = [pod["metadata"]["name"] for pod in before.values()]
    cloud.kubectl("delete", "pod", *names, "-n", cloud.namespace, "--wait=false")
    eventually(lambda: ready(cloud, workload) == len(before), limit=READY_LIMIT, pause=1)
    after = cloud.pods("-l", workload.selector)
    assert not set(after) & set(before)


def ready(cloud: FullCloud, workload: Workload) -> int:
    pods = cloud.pods("-l", workload.selector).values()
    conditions = [pod["status"].get("conditions", []) for pod in pods]
    return sum({"type": "Ready", "status": "True"}.items() <= each.items() for found in conditions for each in found)


def restarted(cloud: FullCloud, workload: Workload, pinger: Pinger) -> tuple[int, float]:
    """Pings that were lost while its pods were restarted, and the longest time in seconds without an answer."""
    mark, start = pinger.mark(), time.monotonic()
    restart(cloud, workload)
    if workload.name == SWITCH:
        time.sleep(SWITCH_LIMIT)  # a switch that is ready may still learn its flows
    lost, gap = pinger.lost(mark), pinger.gap(mark)
    took = time.monotonic() - start
    print(f"{workload}: ready after {took:.0f} s, {lost} pings lost, longest gap {gap:.1f} s")
    return lost, gap


@pytest.mark.parametrize("everything", [False, pytest.param(True, marks=pytest.mark.long)], ids=["data-path", "all"])
def test_vms_keep_running_and_reachable_while_pods_are_restarted_in_turn(
    full_cloud: FullCloud, vms: Vms, everything: bool
) -> None:
    workloads = [each for each in full_cloud.workloads() if everything or each.name in DATA_PATH]
    before = machines(full_cloud)
    assert before
    seen: dict[str, tuple[int, float]] = {}
    with Pinger(vms.demo.floating) as pinger:
        for workload in workloads:
            seen[str(workload)] = restarted(full_cloud, workload, pinger)
            if 0 < seen[str(workload)][0] <= CHANCE and workload.name != SWITCH:  # whoever loses one again is its cause
                seen[str(workload)] = restarted(full_cloud, workload, pinger)
        full_cloud.wait_ready()
    assert machines(full_cloud) == before, "the same processes"
    names = {name.partition("/")[2] for name in seen}
    assert names >= DATA_PATH
    assert {name: lost for name, (lost, _) in seen.items() if lost and not name.endswith(SWITCH)} == {}
    assert seen[f"daemonset/{SWITCH}"][1] < SWITCH_LIMIT


def test_after_that_the_cloud_still_does_all_it_did(full_cloud: FullCloud, vms: Vms) -> None:
    eventually(lambda: all(agent.is_alive for agent in vms.sdk.network.agents()), limit=120, pause=2)
    eventually(lambda: {s.state for s in vms.sdk.compute.services()} == {"up"}, limit=120, pause=2)
    assert vms.ssh(vms.demo, "hostname") == "demo"
    uuid = vms.ssh(vms.demo, "wget -q -O - http://169.254.169.254/openstack/latest/meta_data.json")
    assert vms.demo.id in uuid


@pytest.mark.long
def test_a_port_whose_device_is_gone_goes_too(full_cloud: FullCloud) -> None:
    """It would go on taking what is meant for its address."""
    pod, name = next(iter(full_cloud.pods("-l", f"application={SWITCH}").values()))["metadata"]["name"], "tapgone"
    inside = ("exec", "-n", full_cloud.namespace, pod, "-c", "vswitchd", "--")
    full_cloud.kubectl(*inside, "ip", "tuntap", "add", name, "mode", "tap")
    full_cloud.kubectl(*inside, "ovs-vsctl", "add-port", "br-int", name)
    full_cloud.kubectl(*inside, "ip", "link", "del", name)
    ports = (*inside, "ovs-vsctl", "list-ports", "br-int")
    assert name in full_cloud.kubectl(*ports)
    eventually(lambda: name not in full_cloud.kubectl(*ports), limit=120, pause=2)


def test_a_tap_that_went_down_comes_up_again(full_cloud: FullCloud, vms: Vms) -> None:
    """As it does when vswitchd and libvirt write its flags at the same time."""
    port = next(vms.sdk.network.ports(device_id=vms.demo.id))
    node = vms.server(vms.demo).compute_host
    pods = full_cloud.pods("-l", f"application={SWITCH}").values()
    switch = next(pod["metadata"]["name"] for pod in pods if pod["spec"]["nodeName"] == node)
    words = ("exec", "-n", full_cloud.namespace, switch, "-c", "vswitchd", "--")
    full_cloud.kubectl(*words, "ip", "link", "set", "dev", f"tap{port.id[:11]}", "down")
    assert not ping(vms.demo.floating)
    eventually(lambda: ping(vms.demo.floating), limit=20)


@pytest.mark.long
def test_no_request_fails_while_every_api_restarts(full_cloud: FullCloud) -> None:
    """Through the addresses of their Services, and with a new connection for each request."""
    found = targets(full_cloud)
    assert {"keystone-api", "nova-api-osapi", "neutron-server", "horizon"} <= {each.workload.name for each in found}
    with Load(full_cloud, found) as load:
        for target in found:
            before = set(full_cloud.pods("-l", target.workload.selector))
            what = (f"deployment/{target.workload.name}", "-n", full_cloud.namespace)
            full_cloud.kubectl("rollout", "restart", *what)
            full_cloud.kubectl("rollout", "status", *what, limit=READY_LIMIT)
            eventually(lambda before=before: not before & every_pod(full_cloud), limit=READY_LIMIT, pause=1)
    print(load.result)
    assert load.result["failures"] == []
    assert min(load.result["counts"][target.workload.name] for target in found) > 100


def every_pod(cloud: FullCloud) -> set[str]:
    """Uids of all pods, of those on their way out too."""
    return {pod["metadata"]["uid"] for pod in cloud.get("pods", "-n", cloud.namespace)["items"]}
