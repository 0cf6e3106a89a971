"""Errors that the ports raise, the reasons of the conditions that report them, and texts about internal errors. Pure.

The text about an internal error has the exception's class and place, never its message, which may quote secrets.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path

import stackwright
from stackwright.api.meta import Kind
from stackwright.core.plan import Key

_HOME = f"{Path(stackwright.__file__).parent}/"


class TransientError(Exception):
    """A transient error of an external system, named in the text. Retried with backoff, or after `after` seconds."""

    reason = "Waiting"
    after: float | None = None


class Unavailable(TransientError):
    """The Kubernetes API, or a load balancer before it, serves no request at the moment."""


class Unreachable(Unavailable):
    """The Kubernetes API gives no response."""


class NotServed(TransientError):
    """The Kubernetes API does not serve a kind of this group: its CRD or API service is not installed, or not yet."""

    reason = "KindMissing"

    def __init__(self, text: str, group: str = "") -> None:
        super().__init__(text)
        self.group = group


class StillMissing(TransientError):
    """An account is missing although it was just created; an immediate retry would loop without end."""

    reason = "AccountMissing"


class TerminalError(Exception):
    """A terminal error: an external system rejects the request until it is changed; the text says what to change.

    Retried slowly, or after `after` seconds.
    """

    reason = "BlockedRefused"
    after: float | None = None


class UnmanagedNamespace(TerminalError):
    """The operator's rights end before this namespace, which is not one of those that it manages."""

    reason = "BlockedNamespace"


class UndeclaredStatus(TerminalError):
    """The installed CRD lacks fields of a written status; `fields` are their paths, without `status`."""

    def __init__(self, text: str, fields: Sequence[str]) -> None:
        super().__init__(text)
        self.fields = fields


class Conflict(Exception):
    """An object changed concurrently: the reconcile is retried, and that object (`kind`, `key`) is read again."""

    reason = "Waiting"

    def __init__(self, text: str, kind: Kind, key: Key) -> None:
        super().__init__(text)
        self.kind, self.key = kind, key


def cause(error: BaseException) -> BaseException:
    """The root cause of an exception (`raise … from`)."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def place(error: BaseException) -> str:
    """Class and place, e.g. `KeyError at core/digest.py:31 in digest`; the place is the innermost frame in our code."""
    error = cause(error)
    inside = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_HOME)]
    name = type(error).__name__
    if not inside:
        return name
    return f"{name} at {inside[-1].filename.removeprefix(_HOME)}:{inside[-1].lineno} in {inside[-1].name}"


def frames(error: BaseException) -> str:
    """The stack frames, for the log."""
    return "".join(traceback.format_tb(cause(error).__traceback__))


def words(error: BaseException) -> str:
    """The message for users, which asks them to report the error."""
    return (
        f"Internal error of the operator on this object: {place(error)}. This is an error in Stackwright: "
        "please report this message, with the output of `stackwright report`"
    )
