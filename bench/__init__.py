"""Performance figures. `python -m bench` prints them; docs/reference/benchmarks.md explains them."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path += [str(TESTS), str(TESTS / "scenario")]  # worlds in memory, and `support`
