"""Shared by tests of virtual machines on several nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness import eventually
from traffic.pinger import Pinger
from vms import Vm, Vms

from stackwright.smoke.icmp import ping

MOVE_LIMIT = 400
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"


def host(vms: Vms, vm: Vm) -> str:
    return str(vms.server(vm).compute_host)


@contextmanager
def two_machines(vms: Vms, nodes: set[str], begin: Callable[[], list[Vm]]) -> Iterator[tuple[Vm, Vm]]:
    """Waits until the hypervisors of exactly these nodes are up, then until the two machines of `begin` are reached."""
    up = vms.sdk.compute.hypervisors
    eventually(lambda: {each.name for each in up() if each.state == "up"} == nodes, 300, pause=2)
    one, two = made = begin()
    try:
        for vm in made:
            vms.reached(vm)
        yield one, two
    finally:
        for vm in made:
            vms.delete(vm)


def migrate_live(vms: Vms, vm: Vm, node: str) -> float:
    """Moves a running machine under pings; returns the longest gap between two responses in seconds."""
    start = time.monotonic()
    with Pinger(vm.floating) as pinger:
        vms.sdk.compute.live_migrate_server(vm.id, host=node, block_migration="auto")
        eventually(lambda: host(vms, vm) == node, limit=MOVE_LIMIT, pause=1)
        vms.settled(vm, "ACTIVE", MOVE_LIMIT)
        took = time.monotonic() - start
        eventually(lambda: ping(vm.floating), limit=60)
        print(f"live migration: {took:.0f} s, longest gap of pings {pinger.gap():.1f} s, {pinger.lost()} lost")
    return pinger.gap()
