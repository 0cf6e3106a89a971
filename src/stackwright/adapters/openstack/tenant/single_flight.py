"""One request for all who want its answer, which nobody waits for longer than a moment.

Whoever comes while it is on its way joins it. When it takes long, for a list may have many pages, it goes on, and they
are told so at once: what they wait with are workers of their namespace, of which there are few.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Generic, TypeVar

from stackwright.core.openstack.clouds import Trouble

T = TypeVar("T")
PATIENCE = 5.0  # seconds, from its beginning


async def together(asked: Iterable[Awaitable[T]]) -> list[T]:
    """All answers, in their order. All are waited for, also when one fails; then the first error is raised."""
    answers = []
    for ended in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended
        answers.append(ended)
    return answers


class Late(Trouble):
    """It takes long, and is still on its way."""


class SingleFlight(Generic[T]):
    def __init__(self) -> None:
        self._task: asyncio.Task[T] | None = None
        self._began = 0.0

    @property
    def flies(self) -> bool:
        return self._task is not None and not self._task.done()

    async def join(self, what: str, ask: Callable[[], Coroutine[Any, Any, T]], patience: float | None = None) -> T:
        """The answer; raises what `ask` raises, and Late, which names `what` is asked for, when it takes too long."""
        patience = PATIENCE if patience is None else patience
        task = self.begin(ask)
        left = self._began + patience - time.monotonic()
        done, _ = await asyncio.wait({task}, timeout=max(0.0, left))
        if not done:
            raise Late("Unreachable", f"{what}: no answer within {patience:.0f} s; it is still waited for")
        return task.result()

    def begin(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """Unless it is on its way."""
        if self._task is None or not self.flies:
            self._began = time.monotonic()
            self._task = asyncio.create_task(ask())
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())  # if all have left
        return self._task

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
