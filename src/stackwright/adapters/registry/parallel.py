"""Calls one function for many items, four of them concurrently."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from stackwright.adapters.registry.session import Session

_AT_ONCE = 4
T = TypeVar("T")


def parallel(session: Session, function: Callable[[T], None], items: Iterable[T]) -> None:
    """Call a function for each item. Raises the first failure. A failure, or Ctrl-C, stops the session and so all
    calls.
    """
    failures: list[BaseException] = []

    def guarded(item: T) -> None:
        try:
            function(item)
        except BaseException as error:
            failures.append(error)
            session.stop()
            raise

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            wait([pool.submit(guarded, item) for item in items], return_when=FIRST_EXCEPTION)
        except BaseException:
            session.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    if failures:
        raise failures[0]
