"""Figures of benchmarks: of a rate more is better, of all else less."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.figure import Figure, Goal


@pytest.mark.parametrize(
    ("unit", "p95", "ratio"), [("s", 18, 0.5), ("calls/min", 18, 0.5), ("objects/s", 1, 2.0), ("servers/min", 1, 2.0)]
)
def test_the_worst_and_the_ratio_to_a_peer_depend_on_what_is_good(unit: str, p95: float, ratio: float) -> None:
    figure = Figure("it", unit, [*range(20), 10], None, "another", [5])
    assert (figure.median, figure.p95, figure.ratio) == (10, p95, ratio)


def test_of_fewer_than_twenty_samples_no_percentile_is_told() -> None:
    assert Figure("it", "s", [1.0] * 19).p95 is None
    assert Figure("it", "s", [1.0] * 20).p95 == 1.0


@pytest.mark.parametrize(("most", "met"), [(10, True), (9.9, False)])
def test_a_goal_is_of_the_median(most: float, met: bool) -> None:
    assert Figure("it", "s", [1, 10, 100], Goal(most=most)).met is met


def test_a_figure_tells_all_of_it() -> None:
    assert str(Figure("it", "s", [1.0, 2.0, 3.0], None, "another", [4.0])) == "it: 2 s, another 4"
    assert str(Figure("it", "s", [1.0])) == "it: 1 s"
