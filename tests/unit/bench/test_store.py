"""The page of figures contains the stored runs, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bench import store
from bench.figure import Figure, Goal
from bench.options import NAMED, QUICK
from bench.store import BEGIN, END, PAGE, load, page, save

BENCHES = (*QUICK, *NAMED)


def test_the_page_is_current() -> None:
    text = PAGE.read_text()
    assert text == page(text, load(), BENCHES), "run `make bench-docs`"


def test_each_stored_run_is_of_a_bench_and_of_a_commit() -> None:
    runs = load()
    assert runs
    for name, run in runs.items():
        assert name in BENCHES
        assert re.fullmatch("[0-9a-f]{12}", run["commit"])
        assert run["figures"]


def test_outside_of_the_marks_the_page_has_no_table_of_figures() -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    assert "median |" not in before + rest.partition(END)[2]


def test_each_bench_is_on_the_page() -> None:
    text = PAGE.read_text().partition(BEGIN)[0]
    assert not [name for name in BENCHES if f"| `{name}` |" not in text]


@pytest.mark.parametrize(("status", "changed"), [("", False), (" M src/stackwright/main.py", True)])
def test_a_run_of_uncommitted_code_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, changed: bool
) -> None:
    """A figure of a commit that is not available to others would not be a figure of that commit."""
    monkeypatch.setattr(store, "_git", lambda *words: {"rev-parse": "0123456789ab", "status": status}[words[0]])
    save("help", [Figure("it", "s", [1.0])], 7, tmp_path)
    text = page(f"{BEGIN}{END}", load(tmp_path), ("help",))
    assert ("commit 0123456789ab with changes; " in text) is changed
    assert ("commit 0123456789ab; " in text) is not changed


def test_a_run_is_stored_with_its_peer_and_printed_with_its_goal(tmp_path: Path) -> None:
    slow = Figure("slow", "s", [1.0, 2.0, 3.0], Goal(most=1), peer="another", peers=[4.0, 4.0], note="why")
    save("help", [slow, Figure("many", "s", [0.123456] * 20)], 7, tmp_path)
    runs: dict[str, Any] = load(tmp_path)
    text = page(f"before\n{BEGIN}\nold\n{END}\nafter\n", runs, ("help", "unit"))
    assert "| slow | ≤ 1 ✗ | s | 3 | 2 |  | another | 2 | 4 | 2.0x |\n" in text
    assert "| many |  | s | 20 | 0.123 | 0.123 |  |  |  |  |\n" in text
    assert "- slow: why\n" in text
    assert "No run is stored of: `unit`.\n" in text
    assert runs["help"]["commit"] in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert page(text, runs, ("help", "unit")) == text
