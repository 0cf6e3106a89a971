"""CPU time of `stackwright --help`, which represents the start-up time of every command.

How: the installed program as a child process, n times; user and system seconds from the kernel (wait4). An empty Python
program of the same interpreter shows the lower limit.

Sources of error: a first run that compiles byte code (one run before is not counted); an editable installation, whose
import hooks cost a few milliseconds more than an installed wheel.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.figure import Figure, Goal
from bench.options import Options
from bench.process import program, run


def run_help() -> float:
    return run([program("stackwright"), "--help"]).cpu


def run_empty() -> float:
    return run([sys.executable, "-c", "pass"]).cpu


def measure(options: Options) -> Iterator[Figure]:
    run_help()
    count = options.n or 20
    yield Figure("stackwright --help, CPU", "s", [run_help() for _ in range(count)], Goal(most=0.15))
    yield Figure("python -c pass, CPU", "s", [run_empty() for _ in range(count)])
