"""Wall time of the pure tests (unit, golden, scenario), which is how long one waits after each change.

How: pytest on tests/unit, tests/golden and tests/scenario as `make unit` runs it, once.

What would make it wrong: other work on the machine, for it is wall time (CPU seconds stand beside it); failing tests,
which print and stop early: they are told in the note.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.figure import Figure, Goal
from bench.options import BenchError, Options
from bench.process import ROOT, run

FOLDERS = ("tests/unit", "tests/golden", "tests/scenario")


def measure(options: Options) -> Iterator[Figure]:
    folders = [folder for folder in FOLDERS if any((ROOT / folder).rglob("test_*.py"))]
    argv = [sys.executable, "-m", "pytest", "-q", "--timeout=60", "-p", "no:cacheprovider", *folders]
    costs = [run(argv, check=False) for _ in range(options.n or 1)]
    if any(cost.code not in (0, 1) for cost in costs):
        raise BenchError(f"pytest ended with {costs[-1].code}: {costs[-1].output[-1000:]}")
    last = costs[-1].output.strip().splitlines()[-1].strip("= ")
    yield Figure("unit, golden, scenario: wall", "s", [cost.wall for cost in costs], Goal(most=10), note=last)
    yield Figure("unit, golden, scenario: CPU", "s", [cost.cpu for cost in costs])
