"""A queue for limited slots, with a fair share for each user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stackwright.core.shares import Shares


class FairSlots:
    """Callers that wait for a slot of `core.shares.Shares`."""

    def __init__(self, total: int, share: int | None = None) -> None:
        self._shares: Shares[asyncio.Future[None]] = Shares(total, share)

    @asynccontextmanager
    async def of(self, user: str, until: float, size: int = 1, rank: int = 0) -> AsyncIterator[None]:
        """Holds a slot of a user. Raises TimeoutError if none is free by this time of the event loop."""
        slot = await self.take(user, until, size, rank)
        try:
            yield
        finally:
            self.leave(slot)

    async def take(self, user: str, until: float, size: int = 1, rank: int = 0) -> asyncio.Future[None]:
        """The same for a holder that outlives this task: it holds the slot until `leave`."""
        slot = asyncio.get_running_loop().create_future()
        self._shares.wait(user, slot, size, rank)
        self._grant()
        try:
            async with asyncio.timeout_at(until):
                await slot
        except BaseException:
            self.leave(slot)
            raise
        return slot

    def leave(self, slot: asyncio.Future[None]) -> None:
        self._shares.leave(slot)
        self._grant()

    def _grant(self) -> None:
        while (slot := self._shares.begin()) is not None:
            if not slot.done():  # a cancelled one leaves by itself
                slot.set_result(None)
