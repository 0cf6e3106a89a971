"""Figures of benchmarks: of a rate more is better, of all else less."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import __main__ as program
from bench.figure import Figure, Goal
from bench.options import BenchError
from bench.process import run


@pytest.mark.parametrize(
    ("unit", "p95", "ratio"), [("s", 18, 0.5), ("calls/min", 18, 0.5), ("objects/s", 1, 2.0), ("servers/min", 1, 2.0)]
)
def test_the_worst_and_the_ratio_to_a_peer_depend_on_the_better_direction(unit: str, p95: float, ratio: float) -> None:
    figure = Figure("it", unit, [*range(20), 10], None, "another", [5])
    assert (figure.median, figure.p95, figure.ratio) == (10, p95, ratio)


def test_fewer_than_twenty_samples_have_no_percentile() -> None:
    assert Figure("it", "s", [1.0] * 19).p95 is None
    assert Figure("it", "s", [1.0] * 20).p95 == 1.0


@pytest.mark.parametrize(("most", "met"), [(10, True), (9.9, False)])
def test_a_goal_is_of_the_median(most: float, met: bool) -> None:
    assert Figure("it", "s", [1, 10, 100], Goal(most=most)).met is met


@pytest.mark.parametrize(
    ("unit", "peers", "met"), [("s", [30.0], True), ("s", [5.0], False), ("s", [], None), ("objects/s", [5.0], True)]
)
def test_a_goal_of_a_ratio_is_met_when_the_peer_costs_so_many_times_ours(
    unit: str, peers: list[float], met: bool | None
) -> None:
    assert Figure("it", unit, [10.0], Goal(times=2), "another", peers).met is met


def test_a_failed_program_has_no_figure() -> None:
    assert run([sys.executable, "-c", "print('told')"]).output == "told\n"
    with pytest.raises(BenchError, match=r"ended with 3:\nno disk is left"):
        run([sys.executable, "-c", "import sys; print('no disk is left', file=sys.stderr); sys.exit(3)"])
    assert run([sys.executable, "-c", "raise SystemExit(3)"], check=False).code == 3


@pytest.mark.parametrize(
    ("measure", "code", "kept"),
    [
        (lambda options: iter([Figure("it", "s", [1.0])]), 0, True),
        (lambda options: unmeasured("no cluster answers"), 1, False),
        (lambda options: 1 / 0, 1, False),
    ],
)
def test_a_bench_that_could_not_measure_fails_the_run_and_is_not_stored(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    measure: Callable[[object], object],
    code: int,
    kept: bool,
) -> None:
    stored: list[str] = []

    def save(name: str, figures: object, took: float) -> Path:
        stored.append(name)
        return tmp_path

    monkeypatch.setattr(program, "module", lambda name: SimpleNamespace(measure=measure))
    monkeypatch.setattr(program, "save", save)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["bench", "help", "--store"])
    assert program.main() == code
    assert stored == (["help"] if kept else [])
    assert ("✗ help: " in capsys.readouterr().err) is (code == 1)


def unmeasured(why: str) -> Iterator[Figure]:
    yield Figure("half of it", "s", [1.0])
    raise BenchError(why)


def test_a_figure_prints_all_its_fields() -> None:
    assert str(Figure("it", "s", [1.0, 2.0, 3.0], None, "another", [4.0])) == "it: 2 s, another 4"
    assert str(Figure("it", "s", [1.0])) == "it: 1 s"
