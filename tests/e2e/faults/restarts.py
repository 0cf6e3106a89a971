"""Pods of workloads are restarted while a virtual machine is pinged."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from full import FullCloud, Workload
from harness import eventually
from traffic.pinger import CHANCE, Pinger
from vms import Vms

from stackwright.local.host import cgroups

SWITCH = "openvswitch"
DATA_PATH = {"libvirt", "nova-compute", SWITCH, "neutron-ovs-agent", "neutron-l3-agent", "neutron-dhcp-agent"}
SWITCH_LIMIT = 30
MOST_LOST = 3  # of all restarts but the switch's; more are not chance, although no single workload lost a ping twice
READY_LIMIT = 300

Attempt = tuple[int, float]
"""Pings that were lost while pods were restarted, and the longest time in seconds without a response."""


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


def restarted(cloud: FullCloud, workload: Workload, pinger: Pinger) -> Attempt:
    mark, start = pinger.mark(), time.monotonic()
    restart(cloud, workload)
    if workload.name == SWITCH:
        time.sleep(SWITCH_LIMIT)  # a ready switch may still receive its flows
    lost, gap = pinger.lost(mark), pinger.gap(mark)
    took = time.monotonic() - start
    print(f"{workload}: ready after {took:.0f} s, {lost} pings lost, longest gap {gap:.1f} s")
    return lost, gap


def outages(seen: Mapping[str, Sequence[Attempt]]) -> dict[str, list[int]]:
    """Workload → lost pings of its attempts, for each workload that lost more than chance explains.

    One lost ping is chance if the second attempt loses none. If all workloads together lost too many, each workload
    with a lost ping is returned. The switch is judged only by its gap. Pure.
    """
    lost = {name: [lost for lost, _ in attempts] for name, attempts in seen.items() if not name.endswith(f"/{SWITCH}")}
    all_lost = sum(map(sum, lost.values()))
    most = CHANCE if all_lost <= MOST_LOST else 0
    return {name: counts for name, counts in lost.items() if sum(counts) > most}


def restart_in_turn(cloud: FullCloud, vms: Vms, workloads: Iterable[Workload]) -> None:
    """Restart one workload after the other. Only the switch may lose pings; `outages` defines what chance explains."""
    before = machines(cloud)
    assert before
    names = restart_each(cloud, vms.demo.floating, workloads)
    assert machines(cloud) == before, "the same processes"
    assert names >= DATA_PATH


def restart_each(cloud: FullCloud, address: str, workloads: Iterable[Workload]) -> set[str]:
    """Restart one workload after the other, while an address is pinged; return their names."""
    seen: dict[str, list[Attempt]] = {}
    with Pinger(address) as pinger:
        for workload in workloads:
            attempts = seen[str(workload)] = [restarted(cloud, workload, pinger)]
            if 0 < attempts[0][0] <= CHANCE and workload.name != SWITCH:  # a second loss proves the cause
                attempts.append(restarted(cloud, workload, pinger))
        cloud.wait_ready()
    lost = {name: [lost for lost, _ in attempts] for name, attempts in seen.items()}
    print(f"lost pings of all attempts, {MOST_LOST} at most beside the switch's: {lost}")
    assert outages(seen) == {}
    assert seen[f"daemonset/{SWITCH}"][0][1] < SWITCH_LIMIT
    return {name.partition("/")[2] for name in seen}
