"""A figure: samples of one quantity, its goal, and the same quantity of a peer. Pure.

A goal is shown, never asserted: timings on a shared machine vary, and a flaky bench would be ignored.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

RATES = ("/s", "servers/min")
ENOUGH = 20
"""With fewer samples, the 95th percentile would be the worst one."""


@dataclass(frozen=True)
class Goal:
    """most  upper limit of the median;  times  lower limit of the ratio of the peer's cost to ours"""

    most: float | None = None
    times: float | None = None

    def __str__(self) -> str:
        return f"≥ {self.times:g}x" if self.times is not None else f"≤ {self.most:g}"


@dataclass(frozen=True)
class Figure:
    """of    the measured quantity, in a few words
    peer  name of the peer, measured in the same run and unit; peers  its samples
    note  needed to interpret the figure
    """

    of: str
    unit: str
    samples: Sequence[float]
    goal: Goal | None = None
    peer: str = ""
    peers: Sequence[float] = ()
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def p95(self) -> float | None:
        """95th percentile; for rates the 5th, since low rates are worse. None for too few samples."""
        return percentile(self.samples, 0.05 if self._rate else 0.95) if len(self.samples) >= ENOUGH else None

    @property
    def ratio(self) -> float | None:
        """The peer's median divided by ours; for rates, ours divided by the peer's."""
        if not self.peers or not self.median:
            return None
        other = statistics.median(self.peers)
        return self.median / other if self._rate else other / self.median

    @property
    def _rate(self) -> bool:
        """Whether higher is better."""
        return self.unit.endswith(RATES)

    def __str__(self) -> str:
        p95 = "" if self.p95 is None else f", p95 {self.p95:.3g}"
        peer = f", {self.peer} {statistics.median(self.peers):.3g}" if self.peers else ""
        return f"{self.of}: {self.median:.3g} {self.unit}{p95}{peer}"

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        if self.goal.times is not None:
            return None if self.ratio is None else self.ratio >= self.goal.times
        assert self.goal.most is not None
        return self.median <= self.goal.most

    def as_dict(self, bench: str) -> dict[str, Any]:
        return {
            "bench": bench,
            "of": self.of,
            "unit": self.unit,
            "goal": str(self.goal) if self.goal else None,
            "met": self.met,
            "n": len(self.samples),
            "median": self.median,
            "p95": self.p95,
            "samples": list(self.samples),
            "peer": self.peer or None,
            "peer_n": len(self.peers) or None,
            "peer_median": statistics.median(self.peers) if self.peers else None,
            "ratio": self.ratio,
            "note": self.note or None,
        }


def percentile(samples: Sequence[float], share: float) -> float:
    """By nearest rank: always one of the samples. With fewer than twenty, the 95th is the largest, the 5th the
    smallest.
    """
    ranked = sorted(samples)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]
