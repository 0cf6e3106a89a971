"""Internal errors: reported by exception class and place, never by the text of the exception, which may quote secrets.

An internal error ends no task. It is counted, logged with its stack frames, and reported on the object it concerns.
"""

from __future__ import annotations

import asyncio

import structlog

from stackwright.core.conditions import READY, Condition
from stackwright.core.errors import frames, place, words
from stackwright.runtime import metrics
from stackwright.runtime.lease.fence import LeaseLost

REASON = "InternalError"
log = structlog.get_logger()


def failed(error: BaseException) -> Condition:
    """Ready after an internal error."""
    return Condition(READY, False, REASON, words(error))


def note(where: str, error: BaseException, **about: object) -> None:
    """Count and log an error. `where` is what the operator was doing: reconcile, event, resync, admission."""
    record(where, place(error), frames(error), **about)


def record(where: str, fault: str, stack: str, **about: object) -> None:
    """Count and log an error by its place and stack frames; of another process, only these are known."""
    metrics.FAULTS.labels(where).inc()
    log.error("internal error", during=where, fault=fault, frames=stack, **about)


def ends(error: BaseException) -> bool:
    """Whether an exception must end the current task. A CancelledError of another task must not."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, GeneratorExit | KeyboardInterrupt | LeaseLost)
