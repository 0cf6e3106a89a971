"""Time limits of requests to an OpenStack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stackwright.core.openstack.clouds import LATE
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
