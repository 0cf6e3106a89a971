"""The work queue: each key is queued once, however often it is added, and no key is processed concurrently.

A key added while it is being processed is processed again afterwards. A failed key is retried with jittered exponential
backoff, or earlier on an event, unless the event echoes the key's own write or changes only messages. All delays use
the clock of the event loop, so tests run under simulated time. Urgent items have a separate queue, which every worker
serves first and reserved workers serve exclusively, so they never wait for long work.

Shared items have a queue per share, such as a namespace, and a pool of workers for shares only. Shares are served in
turn, with a limit of items of one share in progress, so slow items delay only their own share. The fewer workers are
free, the lower this limit, so that several shares leave workers for others (like the dynamic threshold of shared
buffers). An item that is queued without end, for example because of responses of a user's cloud, is processed BURST
times without a delay, and then once every PACE seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
TICK = 0.001  # timers may fire this much too early; waiting for the remainder would busy-loop
SHORTEST = 2 * TICK  # a shorter delay would end at once, and the item would request the remainder repeatedly
DOUBLINGS = 16  # limits the exponent of the backoff; the longest delay is reached earlier
# Token bucket of a shared item: BURST runs without delay, refilled by one every PACE seconds.
BURST, PACE = 100, 1.0


class KeyedQueue(Generic[T]):
    """first, longest  backoff in seconds of the first failure, and its limit
    jitter          a function that returns a factor that spreads failures; at least 1, if `after` must be kept
    urgent          an attribute: whether an item is urgent; set it before the first item is added
    share           an attribute: the share of an item, if any; set it before the first item, too. Urgent items have
                    none
    pool            an attribute: the pool of workers for the share of an item
    """

    def __init__(self, first: float = 0.5, longest: float = 60.0, jitter: Callable[[], float] = lambda: 1.0) -> None:
        self._first, self._longest, self._jitter = first, longest, jitter
        self.urgent: Callable[[T], bool] = lambda item: False
        self.share: Callable[[T], str | None] = lambda item: None
        self.pool: Callable[[T], str] = lambda item: ""
        self._ready: deque[T] = deque()
        self._ready_urgent: deque[T] = deque()
        # Pool → its shares, in the order of service. No share is empty.
        self._ready_shared: dict[str, dict[str, deque[T]]] = {}
        self._queued: set[T] = set()
        self._working: set[T] = set()
        self._again: set[T] = set()
        self._echoed: set[T] = set()  # echoes received while the item was being processed
        self._delayed: list[tuple[float, int, T]] = []
        self._due: dict[T, float] = {}
        self._failures: dict[T, int] = {}
        # Shared item → time at which its token bucket is full again, oldest first.
        self._spent: dict[T, float] = {}
        self._order = itertools.count()
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        """Number of items that wait for a worker, without delayed ones."""
        return len(self._queued)

    @property
    def idle(self) -> bool:
        """Whether no item is queued or being processed. Delayed items may remain."""
        return not self._queued and not self._working and not self._again

    def add(self, item: T, delay: float = 0.0) -> None:
        if delay <= 0 and item not in self._working and item not in self._queued:
            delay = self._pause(item)
        if delay > 0:
            due = asyncio.get_running_loop().time() + max(delay, SHORTEST)
            if item not in self._due or due < self._due[item]:
                self._due[item] = due
                heapq.heappush(self._delayed, (due, next(self._order), item))
                self._wake.set()
            return
        self._due.pop(item, None)
        if item in self._working:
            self._again.add(item)
        elif item not in self._queued:
            self._queued.add(item)
            self._line(item).append(item)
            self._wake.set()

    def _pause(self, item: T) -> float:
        """Seconds until a shared item may be processed again."""
        pause = self._spent.get(item, 0.0) - asyncio.get_running_loop().time() - (BURST - 1) * PACE
        return pause if pause > TICK else 0.0

    def _spend(self, item: T) -> None:
        if self.share(item) is None:
            return
        now = asyncio.get_running_loop().time()
        self._spent[item] = max(now, self._spent.pop(item, now)) + PACE
        oldest = next(iter(self._spent))
        if self._spent[oldest] <= now:  # drop at most one per call, which bounds the dict
            del self._spent[oldest]

    def _line(self, item: T) -> deque[T]:
        if self.urgent(item):
            return self._ready_urgent
        share = self.share(item)
        if share is None:
            return self._ready
        return self._ready_shared.setdefault(self.pool(item), {}).setdefault(share, deque())

    def echo(self, item: T) -> None:
        """Add an item for an event without new information, such as its own report; a pending retry keeps its delay."""
        if item in self._working:
            self._echoed.add(item)
        elif item not in self._failures:
            self.add(item)

    async def get(self, urgent: bool = False) -> T:
        """The next item, urgent ones first, or only urgent ones; the caller must call done() afterwards."""
        return await self._next(lambda: self._ready_urgent or (None if urgent else self._ready))

    async def get_shared(self, most: int, workers: int, pool: str = "") -> T:
        """The next item of the shares of a pool with `workers` workers; the caller must call done() afterwards.

        A share is served while its items in progress are fewer than `most` and than a quarter of the free workers, or
        none.
        """

        def ready() -> deque[T] | None:
            working = (item for item in self._working if self.pool(item) == pool)
            held = Counter(share for item in working if (share := self.share(item)) is not None)
            limit = max(1, min(most, (workers - held.total()) // 4))
            shares = self._ready_shared.get(pool, {})
            share = next((share for share in shares if held[share] < limit), None)
            if share is None:
                return None
            items = shares.pop(share)
            if len(items) > 1:  # the share's next item follows those of the others
                shares[share] = items
            return items

        return await self._next(ready)

    async def _next(self, line: Callable[[], deque[T] | None]) -> T:
        while True:
            self._promote()
            if ready := line():
                item = ready.popleft()
                self._queued.discard(item)
                self._working.add(item)
                self._spend(item)
                if self._queued:
                    self._wake.set()
                return item
            self._wake.clear()
            due = self._delayed[0][0] if self._delayed else None
            timeout = None if due is None else max(0.0, due - asyncio.get_running_loop().time())
            # Not wait_for: in Python 3.11 it swallows a cancellation that coincides with the event.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._wake.wait()

    def _promote(self) -> None:
        now = asyncio.get_running_loop().time() + TICK
        while self._delayed and self._delayed[0][0] <= now:
            due, _, item = heapq.heappop(self._delayed)
            if self._due.get(item) == due:
                del self._due[item]
                self.add(item)

    def done(self, item: T) -> None:
        self._working.discard(item)
        if any(self._ready_shared.values()):
            self._wake.set()
        echoed = item in self._echoed and item not in self._failures
        self._echoed.discard(item)
        if item in self._again or echoed:
            self._again.discard(item)
            self.add(item)

    def retry(self, item: T, after: float | None = None) -> float:
        """Queue a failed item again with backoff, after at least `after` seconds; returns the delay."""
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        delay = max(min(self._longest, self._first * 2.0 ** min(failures, DOUBLINGS)), after or 0.0) * self._jitter()
        self.add(item, delay)
        return delay

    def forget(self, item: T) -> None:
        """Reset the backoff of an item that succeeded."""
        self._failures.pop(item, None)
