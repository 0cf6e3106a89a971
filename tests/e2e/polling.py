"""The rules of a poll: valid results, retried errors, and its end."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable

from keystoneauth1.exceptions import ClientException
from openstack.exceptions import SDKException

from stackwright.core.errors import Conflict, TransientError

# No response yet, an unavailable service, or a program or a request that took too long.
NOT_YET = (
    AssertionError,
    StopIteration,
    KeyError,
    ValueError,
    ClientException,
    SDKException,
    TransientError,
    Conflict,
    subprocess.TimeoutExpired,
    TimeoutError,
)


class Poll:
    """Polls one check, until it returns True or `limit` seconds are over; `why` describes the wait."""

    def __init__(self, limit: float, why: str = "") -> None:
        self._start, self._limit = time.monotonic(), limit
        self._failure = f"{why}: not within {limit:.0f} s" if why else f"not within {limit:.0f} s"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def ends_with(self, answer: object) -> bool:
        """Whether this result ends the poll. False and the errors of NOT_YET mean that the check is retried.

        Raises AssertionError at the limit, caused by the error; TypeError for a result other than a bool: None and an
        empty text must not be treated as a result.
        """
        cause = answer if isinstance(answer, NOT_YET) else None
        if cause is None and not isinstance(answer, bool):
            raise TypeError(f"a check returns True or False, not {type(answer).__name__}")
        if answer is True:
            return True
        if self.seconds > self._limit:
            raise AssertionError(self._failure) from cause
        return False


def eventually(check: Callable[[], bool], limit: float = 120, pause: float = 0.3) -> float:
    """Seconds until a check returns True, by the rules of `Poll`."""
    poll = Poll(limit)
    while not poll.ends_with(_answer(check)):
        time.sleep(pause)
    return poll.seconds


async def until(check: Callable[[], Awaitable[bool]], why: str, limit: float = 120, pause: float = 0.5) -> float:
    """Like `eventually`, for a check that is awaited."""
    poll = Poll(limit, why)
    while not poll.ends_with(await _awaited(check)):
        await asyncio.sleep(pause)
    return poll.seconds


def _answer(check: Callable[[], bool]) -> bool | Exception:
    try:
        return check()
    except NOT_YET as error:
        return error


async def _awaited(check: Callable[[], Awaitable[bool]]) -> bool | Exception:
    try:
        return await check()
    except NOT_YET as error:
        return error
