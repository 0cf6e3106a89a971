"""Until when an OpenStack may be asked. Nobody can interrupt a thread, but it sends nothing more after that."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TypeVar

from stackwright.core.openstack.clouds import LATE, Trouble

T = TypeVar("T")
_until: ContextVar[float] = ContextVar("until", default=math.inf)


def after(seconds: float) -> float:
    """The moment, for `within`."""
    return time.monotonic() + seconds


def within(until: float, what: Callable[[], T]) -> T:
    """All requests that it makes in this thread end about then."""
    token = _until.set(until)
    try:
        return what()
    finally:
        _until.reset(token)


def left() -> float:
    """Seconds that this thread has; infinite without a deadline."""
    return _until.get() - time.monotonic()


@asynccontextmanager
async def in_time(seconds: float | None) -> AsyncIterator[None]:
    """Raises Trouble when it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise Trouble("Unreachable", LATE) from None
