"""Two compute nodes: virtual machines migrate with their disks, nodes differ, and machines survive a power cut."""

from __future__ import annotations

import time

from full import FullCloud
from harness import eventually
from traffic.pinger import CHANCE, Pinger
from two_nodes import BOOT_ID, MOVE_LIMIT, host
from vms import Vm, Vms

from stackwright.local.node import power
from stackwright.smoke.icmp import ping

RETURN_LIMIT = 600


def test_cold_migration(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    """The disk moves with the machine."""
    one, two = pair
    before = host(vms, one)
    boot = vms.ssh(one, f"echo kept > /var/kept; sync; {BOOT_ID}")
    start = time.monotonic()
    vms.sdk.compute.migrate_server(one.id)
    vms.settled(one, "VERIFY_RESIZE", MOVE_LIMIT)
    vms.sdk.compute.confirm_server_resize(one.id)
    vms.reached(one, MOVE_LIMIT)
    print(f"cold migration to a login: {time.monotonic() - start:.0f} s")
    assert host(vms, one) != before
    assert vms.ssh(one, "cat /var/kept") == "kept"
    assert vms.ssh(one, BOOT_ID) != boot
    eventually(lambda: vms.sees(one, two), limit=60, pause=1)


def test_a_node_override_applies_to_that_node_only(full_cloud: FullCloud, pair: tuple[Vm, Vm]) -> None:
    value = {"conf": {"nova": {"DEFAULT": {"reserved_host_memory_mb": 517}}}}
    services = {"compute": {"nova": {"compute": {"values": value}}}}

    def told() -> dict[str, str]:
        pods = full_cloud.pods("-l", "application=nova,component=compute").values()
        where = ("nova-compute", "reserved_host_memory_mb", "/etc/nova/nova.conf")
        return {pod["spec"]["nodeName"]: full_cloud.read(pod["metadata"]["name"], *where) for pod in pods}

    before = told()
    try:
        full_cloud.change(nodes={"kubernetes.io/hostname::node1": {"services": services}})
        assert told() == {**before, "node1": "reserved_host_memory_mb = 517"}
    finally:
        full_cloud.change()
    eventually(lambda: told() == before, limit=60)


def test_after_a_power_failure_vms_recover_with_their_network(
    full_cloud: FullCloud, vms: Vms, pair: tuple[Vm, Vm]
) -> None:
    one, two = pair
    cluster = full_cloud.cluster
    boot = vms.ssh(two, BOOT_ID)
    with Pinger(vms.demo.floating) as others:
        power.cut(cluster, cluster.node(2))
        eventually(lambda: not ping(two.floating), limit=10)
        start = time.monotonic()
        power.on(cluster, cluster.node(2), cluster.nodes(2))
        eventually(lambda: ping(two.floating), limit=RETURN_LIMIT)
        print(f"pinged again {time.monotonic() - start:.0f} s after power came back")
        vms.reached(two, RETURN_LIMIT)
    assert vms.ssh(two, BOOT_ID) != boot
    assert host(vms, two) == "node2"
    eventually(lambda: vms.sees(one, two) and vms.sees(two, one), limit=120, pause=1)
    assert others.lost() <= CHANCE, "the other node's machines do not notice"
    full_cloud.wait_ready()
