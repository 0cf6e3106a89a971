"""Shared by tests of virtual machines on two nodes."""

from __future__ import annotations

from vms import Vm, Vms

MOVE_LIMIT = 400
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"


def host(vms: Vms, vm: Vm) -> str:
    return str(vms.server(vm).compute_host)
