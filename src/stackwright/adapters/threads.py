"""Calls of libraries in threads. An exception of a library ends the call, never the operator.

A SystemExit or KeyboardInterrupt that leaves a task stops asyncio's event loop, and with it the process. In a thread,
no such exception is caused by a user or a signal, so it is treated like any other error of the library.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import ParamSpec, TypeVar

_lock, _calls = threading.Lock(), [0]
P = ParamSpec("P")
T = TypeVar("T")


class LibraryFailed(RuntimeError):
    """A library raised an exception of another kind than its own."""


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
    """`asyncio.to_thread` of a contained call."""
    return await asyncio.to_thread(lambda: contained(function, *args, **kwargs))


async def in_thread_of(executor: Executor, function: Callable[[], T]) -> T:
    """A contained call in a thread of the executor."""
    return await asyncio.get_running_loop().run_in_executor(executor, lambda: contained(function))
