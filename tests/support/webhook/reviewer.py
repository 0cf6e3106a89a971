"""A reviewer in a thread of the test, whose check is any function; the operator's is a process."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from stackwright.runtime.webhook.review import Check, Review, review


class ThreadReviewer:
    def __init__(self, check: Check) -> None:
        self._check = check
        self._thread = ThreadPoolExecutor(1, "review")
        self.waiting = 0

    async def start(self) -> None:
        pass

    async def review(self, body: bytearray) -> Review:
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, review, body, self._check)
        finally:
            self.waiting -= 1

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
