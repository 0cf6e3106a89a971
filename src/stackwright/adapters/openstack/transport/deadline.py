"""Time limits of requests to an OpenStack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stackwright.adapters.threads import seconds_left
from stackwright.core.errors import TransientError
from stackwright.core.openstack.clouds import CALL_SECONDS, LATE
from stackwright.core.openstack.errors import Reason, TransientCloudError

TIMEOUT = 30  # seconds to connect, and between two bytes of a response


@asynccontextmanager
async def in_time(seconds: float | None) -> AsyncIterator[None]:
    """Raise TransientCloudError if the block takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise TransientCloudError(Reason.UNREACHABLE, LATE) from None


def check_time() -> None:
    """Raise TransientError if the deadline of this thread's call has passed."""
    if seconds_left() <= 0:
        raise late()


def late() -> TransientError:
    return TransientError(f"it takes longer than {CALL_SECONDS:.0f} s and will be continued")
