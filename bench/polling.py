"""Polling for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.options import BenchError


def until(what: str, true: Callable[[], bool], limit: float, pause: float = 1.0) -> None:
    """Return once the condition is true. Raises BenchError after `limit` seconds."""
    end = time.monotonic() + limit
    while not true():
        if time.monotonic() > end:
            raise BenchError(f"{what}: not within {limit:.0f} s")
        time.sleep(pause)
