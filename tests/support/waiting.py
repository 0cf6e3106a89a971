"""Waits for results that are immediate on an idle machine, and delayed on a busy one; what a queue waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from stackwright.runtime.queue import KeyedQueue

PATIENCE = 60.0  # seconds


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def next_due(queue: KeyedQueue[Any]) -> float | None:
    """Time of the event loop at which the next delayed item becomes ready."""
    return min(queue._due.values(), default=None)
