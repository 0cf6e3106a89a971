"""A figure: samples of one thing, the goal they are held against, and the same thing of a peer. Pure.

A goal is told, never asserted: timings on a shared machine vary, and a red bench would only teach people to ignore it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

RATES = ("/s", "servers/min")
ENOUGH = 20
"""Of fewer samples the 95th percentile would be just the worst one."""


@dataclass(frozen=True)
class Goal:
    """most  the median shall be at most this. times  the peer shall cost at least so many times ours."""

    most: float | None = None
    times: float | None = None

    def __str__(self) -> str:
        return f"≥ {self.times:g}x" if self.times is not None else f"≤ {self.most:g}"


@dataclass(frozen=True)
class Figure:
    """of    what was measured, in a few words
    peer  who else was measured, in the same run and in the same unit; peers  the peer's samples
    note  what one must know to read the figure
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
        """What all but the worst twentieth keep within; of rates the worst are the lowest. None of too few samples."""
        return percentile(self.samples, 0.05 if self._rate else 0.95) if len(self.samples) >= ENOUGH else None

    @property
    def ratio(self) -> float | None:
        """How many times ours the peer's median is; of rates, the other way round."""
        if not self.peers or not self.median:
            return None
        other = statistics.median(self.peers)
        return self.median / other if self._rate else other / self.median

    @property
    def _rate(self) -> bool:
        """The more the better."""
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
    """By nearest rank: always one of the samples. Of fewer than twenty, the 95th is the largest, the 5th the least."""
    ranked = sorted(samples)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]
