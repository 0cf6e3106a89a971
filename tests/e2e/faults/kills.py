"""Processes of the local cluster to kill, by the name of the program; only those in its own cgroup."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path


def processes(name: str) -> list[int]:
    """Process ids by the name of the program, inside our own cgroup only."""
    found = []
    for line in subprocess.run(["pgrep", "-x", name], capture_output=True, text=True).stdout.split():
        cgroup = Path(f"/proc/{line}/cgroup")
        if cgroup.exists() and "/stackwright" in cgroup.read_text():
            found.append(int(line))
    return found


def kill(name: str) -> None:
    found = processes(name)
    assert found, f"no process {name}"
    for process in found:
        os.kill(process, signal.SIGKILL)


def operator_processes() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"operator" in words and any(word.endswith(b"/stackwright") for word in words):
            found.append(int(path.parent.name))
    return found
