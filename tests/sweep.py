"""Sweeps: the cases of an expensive test that takes each write, call or object in turn."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def sampled(cases: Iterable[T], every: int = 4) -> Iterable[T]:
    """Yield every `every`-th case; all of them where the environment has SWEEP=all (`make sweep`).

    The first one is chosen by the number of commits, so that `every` consecutive commits try all cases, and a commit
    always tries the same ones. For sweeps only that take seconds: of any other, all cases are tried each time.
    """
    if os.environ.get("SWEEP") == "all":
        return iter(cases)
    return islice(cases, commits() % every, None, every)


@functools.cache
def commits() -> int:
    """How many commits HEAD has; 0 where there is no git, nor a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-list", "--count", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True
        )
    except OSError:
        return 0
    return int(done.stdout) if done.returncode == 0 else 0
