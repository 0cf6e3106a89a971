"""Figures as one plain-text table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.figure import Figure

HEAD = ("name", "figure", "goal", "unit", "n", "median", "p95", "peer", "ratio")
RIGHT = {"n", "median", "p95", "ratio"}


def table(figures: Sequence[tuple[str, Figure]]) -> str:
    rows = [HEAD, *(_row(name, figure) for name, figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["  ".join(_cell(row[i], widths[i], HEAD[i] in RIGHT) for i in range(len(HEAD))).rstrip() for row in rows]
    lines.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join([*lines, *_notes(figures)])


def _row(name: str, figure: Figure) -> tuple[str, ...]:
    sign = {True: " ✓", False: " ✗", None: ""}[figure.met]
    peer = f"{number(statistics.median(figure.peers))} {figure.peer}" if figure.peers else ""
    return (
        name,
        figure.of,
        f"{figure.goal}{sign}" if figure.goal else "",
        figure.unit,
        str(len(figure.samples)),
        number(figure.median),
        "" if figure.p95 is None else number(figure.p95),
        peer,
        "" if figure.ratio is None else f"{figure.ratio:.1f}x",
    )


def _notes(figures: Sequence[tuple[str, Figure]]) -> list[str]:
    told = [f"  {name}, {figure.of}: {figure.note}" for name, figure in figures if figure.note]
    return ["", *told] if told else []


def _cell(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)


def number(value: float) -> str:
    """Three significant digits."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
