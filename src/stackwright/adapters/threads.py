"""Calls of libraries in threads. An exception of a library ends the call, never the operator.

A SystemExit or KeyboardInterrupt that leaves a task stops asyncio's event loop, and with it the process. In a thread,
no such exception is caused by a user or a signal, so it is treated like any other error of the library.

A thread cannot be interrupted. So adapters compare `seconds_left` with zero before they send anything: a thread sends
nothing after its deadline, or after its caller left.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from stackwright.core.errors import TransientError
from stackwright.slots import FairSlots

THREADS = 32  # of one `Workers`
GRACE = 5.0  # seconds after a deadline for the thread to report why it was not met
_lock, _calls = threading.Lock(), [0]
P = ParamSpec("P")
T = TypeVar("T")


class LibraryFailed(RuntimeError):
    """A library raised an exception of another kind than its own."""


class NoThread(TransientError):
    """The operating system refuses a new thread."""

    def __init__(self) -> None:
        super().__init__("The operator cannot start a thread: the limit of its node is reached")


def contained(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `function`. Raises LibraryFailed instead of a BaseException that is no Exception."""
    with _lock:
        _calls[0] += 1
    try:
        return function(*args, **kwargs)
    except Exception:
        raise
    except BaseException as error:
        raise LibraryFailed(f"a library raised {type(error).__name__}") from error
    finally:
        with _lock:
            _calls[0] -= 1


def busy() -> bool:
    """Whether a call is in progress, including one whose caller was cancelled: a thread cannot be interrupted."""
    return _calls[0] > 0


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """A contained call in a thread of asyncio's executor. Raises NoThread."""
    return await in_thread_of(None, lambda: function(*args, **kwargs))


async def in_thread_of(executor: Executor | None, function: Callable[[], T]) -> T:
    """A contained call in a thread of the executor. Raises NoThread."""
    done: Future[T] = Future()

    def work() -> None:
        if done.set_running_or_notify_cancel():
            _complete(done, function)

    try:
        asyncio.get_running_loop().run_in_executor(executor, work)
    except RuntimeError as error:
        if done.cancel():  # the executor has queued `work`, and a thread that gets free may have begun it
            raise (NoThread() if "thread" in str(error) else error) from None
    return await asyncio.wrap_future(done)


def _complete(done: Future[T], function: Callable[[], T]) -> None:
    try:
        done.set_result(contained(function))
    except Exception as error:
        done.set_exception(error)


@dataclass
class Limits:
    """until  time of the monotonic clock; a caller that leaves brings it forward
    rest   bytes of responses that may still be received
    """

    until: float = math.inf
    rest: float = math.inf


_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)


def after(seconds: float) -> float:
    """The time after this many seconds, for `with_deadline`."""
    return time.monotonic() + seconds


def with_deadline(until: float | Limits, what: Callable[[], T]) -> T:
    """Call `what`; all requests that it makes in this thread end by about `until`."""
    token = _limits.set(until if isinstance(until, Limits) else Limits(until))
    try:
        return what()
    finally:
        _limits.reset(token)


def seconds_left() -> float:
    """Seconds until this thread's deadline; infinite without one."""
    limits = _limits.get()
    return math.inf if limits is None else limits.until - time.monotonic()


def count(received: int) -> bool:
    """Count bytes of a response. Returns whether all responses of the call are within its limit."""
    if (limits := _limits.get()) is None:
        return True
    limits.rest -= received
    return limits.rest >= 0


class Workers:
    """Threads for the calls of one adapter, in fair shares of the namespaces, each call with one deadline.

    A namespace has at most a quarter of the threads that the others leave free. A thread is counted until it ends, also
    if its caller left before.
    """

    def __init__(self, total: int = THREADS) -> None:
        self._slots = FairSlots(total)

    async def call(self, namespace: str, seconds: float, what: Callable[[], T], most: float = math.inf) -> T:
        """Call `what` in a thread. Raises TimeoutError after this many seconds, with the wait for a thread.

        most  bytes of all responses, for clients that `count` them
        """
        loop, limits = asyncio.get_running_loop(), Limits(after(seconds), most)
        end = loop.time() + seconds
        slot = await self._slots.take(namespace, end)
        done: Future[T] = Future()
        done.set_running_or_notify_cancel()  # from now on a caller that leaves does not end it

        def leave(_: object) -> None:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(self._slots.leave, slot)

        done.add_done_callback(leave)
        work = (done, lambda: with_deadline(limits, what))
        try:
            threading.Thread(target=_complete, args=work, name=f"call for {namespace}", daemon=True).start()
        except RuntimeError:
            done.set_exception(NoThread())
        try:
            async with asyncio.timeout_at(end + GRACE):
                return await asyncio.wrap_future(done)
        finally:
            limits.until = -math.inf
