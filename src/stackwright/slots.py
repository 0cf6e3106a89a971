"""Waiting for a fair share of something limited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stackwright.core.shares import Shares


class FairSlots:
    """The waiting for `core.shares.Shares`."""

    def __init__(self, total: int, share: int) -> None:
        self._shares: Shares[asyncio.Future[None]] = Shares(total, share)

    @asynccontextmanager
    async def of(self, user: str, until: float, size: int = 1, rank: int = 0) -> AsyncIterator[None]:
        """A turn of a user. Raises TimeoutError if it has not come by this time of the event loop."""
        turn = asyncio.get_running_loop().create_future()
        self._shares.wait(user, turn, size, rank)
        self._next()
        try:
            async with asyncio.timeout_at(until):
                await turn
            yield
        finally:
            self._shares.leave(turn)
            self._next()

    def _next(self) -> None:
        while (turn := self._shares.begin()) is not None:
            if not turn.done():  # one that was cancelled is about to leave
                turn.set_result(None)
