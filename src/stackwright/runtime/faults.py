"""Internal errors: reported by exception class and place, never by the text of the exception, which may quote secrets.

An internal error ends no task. It is counted, logged with its stack frames, and reported on the object it concerns.
"""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path

import structlog

import stackwright
from stackwright.core.conditions import READY, Condition
from stackwright.runtime import metrics
from stackwright.runtime.lease.fence import LeaseLost

REASON = "InternalError"
_HOME = f"{Path(stackwright.__file__).parent}/"
log = structlog.get_logger()


def cause(error: BaseException) -> BaseException:
    """The root cause of an exception (`raise … from`)."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def place(error: BaseException) -> str:
    """Class and place, e.g. `KeyError at core/digest.py:31 in digest`; the place is the innermost frame in our code."""
    error = cause(error)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_HOME)]
    name = type(error).__name__
    if not frames:
        return name
    return f"{name} at {frames[-1].filename.removeprefix(_HOME)}:{frames[-1].lineno} in {frames[-1].name}"


def words(error: BaseException) -> str:
    """The message for users, which asks them to report the error."""
    return (
        f"Internal error of the operator on this object: {place(error)}. This is an error in Stackwright: "
        "please report this message, with the output of `stackwright report`"
    )


def failed(error: BaseException) -> Condition:
    """Ready after an internal error."""
    return Condition(READY, False, REASON, words(error))


def note(where: str, error: BaseException, **about: object) -> None:
    """Count and log an error. `where` is what the operator was doing: reconcile, event, resync, admission."""
    metrics.FAULTS.labels(where).inc()
    frames = "".join(traceback.format_tb(cause(error).__traceback__))
    log.error("internal error", during=where, fault=place(error), frames=frames, **about)


def ends(error: BaseException) -> bool:
    """Whether an exception must end the current task. A CancelledError of another task must not."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, GeneratorExit | KeyboardInterrupt | LeaseLost)
