"""Deadlines for requests to an OpenStack. A thread cannot be interrupted, but it sends nothing after its deadline."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TypeVar

from stackwright.core.openstack.clouds import LATE
from stackwright.core.openstack.errors import Reason, TransientCloudError

TIMEOUT = 30  # seconds to connect, and between two bytes of a response
T = TypeVar("T")
_until: ContextVar[float] = ContextVar("until", default=math.inf)


def after(seconds: float) -> float:
    """The time after this many seconds, for `within`."""
    return time.monotonic() + seconds


def within(until: float, what: Callable[[], T]) -> T:
    """Call `what`; all requests that it makes in this thread end by about `until`."""
    token = _until.set(until)
    try:
        return what()
    finally:
        _until.reset(token)


def left() -> float:
    """Seconds until this thread's deadline; infinite without one."""
    return _until.get() - time.monotonic()


@asynccontextmanager
async def in_time(seconds: float | None) -> AsyncIterator[None]:
    """Raise TransientCloudError if the block takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise TransientCloudError(Reason.UNREACHABLE, LATE) from None
