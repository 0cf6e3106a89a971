"""Wall time of the pure tests (unit, golden, scenario), which is how long one waits after each change.

How: pytest on tests/unit, tests/golden and tests/scenario, one after the other, once each.

What would make it wrong: other work on the machine, for it is wall time (CPU seconds stand beside it); failing tests,
which print and stop early: they are told in the note.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.figure import Figure, Goal
from bench.options import BenchError, Options
from bench.process import run

SUITES = (("unit", 10.0), ("golden", None), ("scenario", None))


def measure(options: Options) -> Iterator[Figure]:
    for suite, goal in SUITES:
        argv = [sys.executable, "-m", "pytest", "-q", "--timeout=60", "-p", "no:cacheprovider", f"tests/{suite}"]
        costs = [run(argv, check=False) for _ in range(options.n or 1)]
        if any(cost.code not in (0, 1) for cost in costs):
            raise BenchError(f"pytest ended with {costs[-1].code}: {costs[-1].output[-1000:]}")
        last = costs[-1].output.strip().splitlines()[-1].strip("= ")
        limit = Goal(most=goal) if goal else None
        yield Figure(f"{suite} suite: wall", "s", [cost.wall for cost in costs], limit, note=last)
        yield Figure(f"{suite} suite: CPU", "s", [cost.cpu for cost in costs])
