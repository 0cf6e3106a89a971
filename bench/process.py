"""Run a program as a child process and return its cost: CPU seconds from the kernel, wall time, peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.options import BenchError

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cost:
    """cpu  user and system seconds of the child and of all children that it waited for"""

    cpu: float
    wall: float
    peak_mib: float
    code: int
    output: str


def run(argv: Sequence[str | Path], env: Mapping[str, str] | None = None, *, check: bool = True) -> Cost:
    """Standard output is returned; the end of standard error is in the BenchError if the program fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen(argv, stdout=out, stderr=err, cwd=ROOT, env={**os.environ, **(env or {})})
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        wall = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, said = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    if check and child.returncode != 0:
        end = "\n".join([*text.splitlines()[-10:], *said.splitlines()[-20:]])
        raise BenchError(f"{' '.join(map(str, argv))} ended with {child.returncode}:\n{end}")
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, child.returncode, text)


def program(name: str) -> Path:
    """A program of the current Python environment."""
    return Path(sys.executable).parent / name
