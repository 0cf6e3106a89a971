"""One request shared by all callers that need its response; no caller waits longer than a few seconds.

A caller that arrives while the request is in progress joins it. A slow request (a list may have many pages) continues,
and its callers get Late, because each occupies one of the few workers of its namespace.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Generic, TypeVar

from stackwright.core.openstack.errors import Late, Reason

T = TypeVar("T")
PATIENCE = 5.0  # seconds from the start of the request


async def together(asked: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order. Waits for all of them even if one fails, then raises the first error."""
    answers = []
    for ended in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended
        answers.append(ended)
    return answers


class SingleFlight(Generic[T]):
    def __init__(self) -> None:
        self._task: asyncio.Task[T] | None = None
        self._began = 0.0

    @property
    def flies(self) -> bool:
        return self._task is not None and not self._task.done()

    async def join(self, what: str, ask: Callable[[], Coroutine[Any, Any, T]], patience: float | None = None) -> T:
        """The response. Raises the errors of `ask`, or Late, which names `what`, if the response takes too long."""
        patience = PATIENCE if patience is None else patience
        task = self.begin(ask)
        left = self._began + patience - time.monotonic()
        done, _ = await asyncio.wait({task}, timeout=max(0.0, left))
        if not done:
            text = f"{what}: no response within {patience:.0f} s; the request is still in progress"
            raise Late(Reason.UNREACHABLE, text)
        return task.result()

    def begin(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """Start the request unless it is in progress."""
        if self._task is None or not self.flies:
            self._began = time.monotonic()
            self._task = asyncio.create_task(ask())
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())  # retrieves the error
        return self._task

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
