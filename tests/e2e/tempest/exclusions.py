"""exclusions.txt: tests that are left out, each below its reason. Pure.

A reason with the prefix `time:` belongs to a test that would pass, but takes too long for one pack with the others; it
is in another pack.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("exclusions.txt")
SLOW = "time: "


@dataclass(frozen=True)
class Exclusion:
    """A regular expression in the syntax of stestr, and the reason."""

    pattern: str
    reason: str

    @property
    def is_slow(self) -> bool:
        return self.reason.startswith(SLOW)


def parse(text: str) -> list[Exclusion]:
    """Raises ValueError for a pattern without a reason above it."""
    found: list[Exclusion] = []
    reason: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            reason.append(line.lstrip("# ").strip())
        elif not line.strip():
            reason = []
        elif not reason:
            raise ValueError(f"line {number}: {line} has no reason above it")
        else:
            found.append(Exclusion(line.strip(), " ".join(reason)))
            reason = []
    return found


def load() -> list[Exclusion]:
    return parse(FILE.read_text())


def patterns(exclusions: Iterable[Exclusion], *, slow_too: bool) -> str:
    """For stestr's --exclude-list. `slow_too`: include tests that are excluded for their duration."""
    return "".join(f"{each.pattern}\n" for each in exclusions if not (slow_too and each.is_slow))


def table(exclusions: Iterable[Exclusion]) -> str:
    """The table of the documentation."""
    rows = [f"| `{each.pattern}` | {each.reason} |\n" for each in exclusions]
    return "| tests | reason |\n|---|---|\n" + "".join(rows)
