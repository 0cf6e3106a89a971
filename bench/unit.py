"""Wall time of the pure tests (unit, golden, scenario): the wait after each change.

How: pytest as in `make unit`, on tests/unit, tests/golden and tests/scenario, in one process per core, n times (1).

Sources of error: other load on the machine, because it is wall time (CPU seconds are shown too); failing tests, which
print and stop early: the note shows them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.figure import Figure, Goal
from bench.options import BenchError, Options
from bench.process import run

WORDS = ("-q", "--timeout=120", "-n", "auto", "--dist", "worksteal", "tests/unit", "tests/golden", "tests/scenario")


def measure(options: Options) -> Iterator[Figure]:
    costs = [run([sys.executable, "-m", "pytest", *WORDS], check=False) for _ in range(options.n or 1)]
    if any(cost.code not in (0, 1) for cost in costs):
        raise BenchError(f"pytest ended with {costs[-1].code}: {costs[-1].output[-1000:]}")
    last = costs[-1].output.strip().splitlines()[-1].strip("= ")
    yield Figure("pure tests, one process a core: wall", "s", [cost.wall for cost in costs], Goal(most=30), note=last)
    yield Figure("pure tests, one process a core: CPU", "s", [cost.cpu for cost in costs])
