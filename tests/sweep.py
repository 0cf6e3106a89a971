"""Sweeps: the cases of an expensive test that takes each write, call or object in turn."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """The share of a test in a sweep: every `count`-th case from `number`, which is less than `count`."""

    number: int = 0
    count: int = 1


ALL = Part()


def parts(count: int) -> pytest.MarkDecorator:
    """Split a sweep of minutes into tests that differ in the argument `part`; for samples there is one part only.

    Otherwise the longest tests would run alone at the end, on one core. Each part repeats what precedes the sweep.
    """
    count = count if _is_full() else 1
    shares = [Part(number, count) for number in range(count)]
    return pytest.mark.parametrize("part", shares, ids=[f"{part.number + 1}of{count}" for part in shares])


def sampled(cases: Iterable[T], every: int = 4, part: Part = ALL) -> Iterable[T]:
    """Yield every `every`-th case; all those of the part where the environment has SWEEP=all (`make sweep`).

    The first one is chosen by `commits`, so that `every` consecutive commits of the main line try all cases, and one
    commit always tries the same ones. For sweeps only that take seconds: of any other, all cases are tried each time.
    """
    if _is_full():
        return islice(cases, part.number, None, part.count)
    return islice(cases, commits() % every, None, every)


def _is_full() -> bool:
    return os.environ.get("SWEEP") == "all"


@functools.cache
def commits() -> int:
    """How many commits the main line has: a merge counts once. 0 where there is no git, nor a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-list", "--count", "--first-parent", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
        )
    except OSError:
        return 0
    return int(done.stdout) if done.returncode == 0 else 0
