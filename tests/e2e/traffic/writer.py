"""A virtual machine that writes continuously, and verifies the written data. The guest has busybox only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from harness import eventually
from vms import Vm, Vms

SLOTS = 64
# Blocks of 64 KiB of noise, counted after they are flushed. Records are kept in memory, not on a disk.
SCRIPT = f"""
n=0
while [ ! -e stop ]; do
    slot=$((n % {SLOTS})) n=$((n + 1))
    head -c 65536 /dev/urandom >block
    if dd if=block of="$1" bs=64k seek=$slot conv=notrunc,fsync 2>said; then
        echo "$slot $(md5sum <block | cut -c 1-32) $(cut -d ' ' -f 1 /proc/uptime)" >>written
    else
        cat said >>failed
    fi
done
"""
# The last record of each slot, compared with the disk, not the cache.
CHECK = f"""
sync; echo 3 >/proc/sys/vm/drop_caches
tail -n {SLOTS} written | while read -r slot sum at; do
    found=$(dd if="$1" bs=64k skip="$slot" count=1 2>/dev/null | md5sum | cut -c 1-32)
    [ "$found" = "$sum" ] || echo "$slot"
done
"""
FAILED = "cat failed 2>/dev/null | tail -n 5; dmesg | grep -i 'i/o error' | tail -n 5; true"
COUNT = "awk 'NR > 1 && $3 - last > gap {gap = $3 - last} {last = $3} END {print NR, gap + 0}' written"


@dataclass(frozen=True)
class Written:
    """gap  the longest time, in seconds, from one block to the next
    lost  slots with other content than was written
    """

    blocks: int
    gap: float
    lost: str
    failed: str

    @property
    def sound(self) -> bool:
        return self.blocks > 1 and not self.lost and not self.failed

    def __str__(self) -> str:
        trouble = f", LOST {self.lost}, FAILED {self.failed}" if self.lost or self.failed else ""
        return f"{self.blocks} blocks of 64 KiB, longest gap {self.gap:.1f} s{trouble}"


class Writer:
    """`target` is a device or a file of a machine."""

    def __init__(self, vms: Vms, vm: Vm, target: str) -> None:
        self._vms, self._vm, self._target = vms, vm, target
        self._folder = f"/run/writer-{time.time_ns()}"

    def begin(self) -> None:
        self._vms.ssh(self._vm, f"mkdir {self._folder}")
        for name, text in (("write", SCRIPT), ("check", CHECK)):
            self._here(f"cat >{name} <<'END'\n{text}END")
        self._here(f"setsid sh write {self._target} </dev/null >/dev/null 2>&1 & echo $! >pid")
        self.goes_on()

    def blocks(self) -> int:
        return int(self._here("cat written 2>/dev/null | wc -l"))

    def goes_on(self, limit: float = 120) -> float:
        """Seconds until a few more blocks are written."""
        wanted = self.blocks() + 3
        return eventually(lambda: self.blocks() >= wanted, limit, pause=0.5)

    def end(self) -> Written:
        """Stops the writer, and reads the written data back."""
        self._here("touch stop")
        eventually(lambda: self._here("kill -0 $(cat pid) 2>/dev/null || echo over") == "over", limit=120)
        lost = self._here(f"sh check {self._target}")
        blocks, gap = self._here(COUNT).split()
        return Written(int(blocks), float(gap), " ".join(lost.split()), self._here(FAILED))

    def forget(self) -> None:
        with suppress(AssertionError):
            self._here("touch stop; sleep 1; rm -rf $PWD")

    def _here(self, command: str) -> str:
        return self._vms.ssh(self._vm, f"cd {self._folder} && {command}")


@contextmanager
def writing(vms: Vms, vm: Vm, target: str) -> Iterator[Writer]:
    made = Writer(vms, vm, target)
    made.begin()
    try:
        yield made
    finally:
        made.forget()
