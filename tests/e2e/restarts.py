"""Pods of workloads are restarted while a virtual machine is pinged."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from full import FullCloud, Workload
from harness import eventually
from pinger import CHANCE, Pinger
from vms import Vms

from stackwright.local import cgroups

SWITCH = "openvswitch"
DATA_PATH = {"libvirt", "nova-compute", SWITCH, "neutron-ovs-agent", "neutron-l3-agent", "neutron-dhcp-agent"}
SWITCH_LIMIT = 30
READY_LIMIT = 300


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


def restart_in_turn(cloud: FullCloud, vms: Vms, workloads: Iterable[Workload]) -> None:
    """One workload after the other; nothing but the switch may lose a ping."""
    before = machines(cloud)
    assert before
    seen: dict[str, tuple[int, float]] = {}
    with Pinger(vms.demo.floating) as pinger:
        for workload in workloads:
            seen[str(workload)] = restarted(cloud, workload, pinger)
            if 0 < seen[str(workload)][0] <= CHANCE and workload.name != SWITCH:  # whoever loses one again is its cause
                seen[str(workload)] = restarted(cloud, workload, pinger)
        cloud.wait_ready()
    assert machines(cloud) == before, "the same processes"
    names = {name.partition("/")[2] for name in seen}
    assert names >= DATA_PATH
    assert {name: lost for name, (lost, _) in seen.items() if lost and not name.endswith(SWITCH)} == {}
    assert seen[f"daemonset/{SWITCH}"][1] < SWITCH_LIMIT
