"""Calls of one function for many items, four at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from stackwright.adapters.registry.session import Session

_AT_ONCE = 4
T = TypeVar("T")


def parallel(session: Session, function: Callable[[T], None], items: Iterable[T]) -> None:
    """Raises the first failure. It, or Ctrl-C, stops the session, which ends the others."""
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
