"""A machine whose disk is in Ceph migrates without a copy of the disk."""

from __future__ import annotations

import time

from harness import eventually
from storage import Storage
from traffic.pinger import Pinger
from traffic.writer import writing

MOVE_LIMIT = 400
GIB = 1 << 30


def test_a_machine_moves_without_its_disk_while_it_writes(storage: Storage) -> None:
    storage.two_nodes()
    compute = storage.sdk.compute
    vm = storage.machine("mover", host="node1")
    try:
        assert storage.ceph.rbd("info", f"vms/{vm.id}_disk")["size"] == GIB
        with writing(storage.vms, vm, "/var/written") as writer, Pinger(vm.floating) as pinger:
            start = time.monotonic()
            # Nova refuses to migrate disks outside of shared storage without a copy.
            compute.live_migrate_server(vm.id, host="node2", block_migration=False)
            eventually(lambda: compute.get_server(vm.id).compute_host == "node2", limit=MOVE_LIMIT, pause=1)
            storage.vms.settled(vm, "ACTIVE", MOVE_LIMIT)
            took = time.monotonic() - start
            writer.goes_on()
            written = writer.end()
        print(f"live migration: {took:.0f} s, longest gap of pings {pinger.gap():.1f} s; {written}")
        assert written.sound, written
    finally:
        storage.vms.delete(vm)
