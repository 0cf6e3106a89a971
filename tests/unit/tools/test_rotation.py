"""Three commits in a row take all tests; a test that is not slow is in each run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.paths import ROOT
from tests.rotation import SLOW, TURNS, has_turn

FILE = "tests/golden/test_charts_apart.py"


def test_slow_files_exist() -> None:
    assert [path for path in SLOW if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("path", SLOW)
def test_each_test_of_a_slow_file_has_one_turn_of_three(path: str) -> None:
    tests = [f"{path}::test_it[{number}]" for number in range(300)]
    turns = [[number for number in range(7, 7 + TURNS) if has_turn(test, number)] for test in tests]
    assert all(len(turn) == 1 for turn in turns)
    assert all(60 < turns.count([number]) < 140 for number in range(7, 7 + TURNS))


def test_other_tests_are_in_each_run() -> None:
    assert all(has_turn("tests/unit/api/test_secrecy.py::test_it", number) for number in range(TURNS))


def test_the_run_of_make_leaves_out_what_has_no_turn() -> None:
    make = (ROOT / "Makefile").read_text()
    assert "--dist worksteal" in make and "$(PARALLEL) -p tests.rotation $(PURE)" in make

    def collected(*words: str) -> set[str]:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *words, FILE]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        return {line for line in done.stdout.splitlines() if "::" in line}

    everything, some = collected(), collected("-p", "tests.rotation")
    assert some < everything and len(some) > 0
