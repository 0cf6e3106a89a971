"""Three commits in a row take all tests; a test that is not slow is in each run."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from support.paths import ROOT
from tests import rotation
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


def test_the_runs_of_three_commits_share_no_slow_test_and_take_all(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = {f"{path}::test_it[{number}]" for path in SLOW for number in range(9)}
    runs = list[set[str]]()
    for number in range(700, 700 + TURNS):
        monkeypatch.setattr(rotation, "commits", lambda number=number: number)
        omitted = list[Any]()
        config: Any = SimpleNamespace(
            hook=SimpleNamespace(pytest_deselected=lambda items, to=omitted: to.extend(items))
        )
        items: list[Any] = [SimpleNamespace(nodeid=test) for test in sorted(tests)]
        rotation.pytest_collection_modifyitems(config, items)
        runs.append({item.nodeid for item in items})
        assert {item.nodeid for item in omitted} == tests - runs[-1], "they are reported as deselected"
    assert sum(map(len, runs)) == len(tests), "they are disjoint"
    assert set.union(*runs) == tests


def test_the_run_of_make_leaves_out_what_has_no_turn() -> None:
    make = (ROOT / "Makefile").read_text()
    assert "--dist worksteal" in make and "$(PARALLEL) -p tests.rotation $(PURE)" in make

    def collected(*words: str) -> set[str]:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *words, FILE]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        return {line for line in done.stdout.splitlines() if "::" in line}

    everything, some = collected(), collected("-p", "tests.rotation")
    assert some < everything and len(some) > 0
