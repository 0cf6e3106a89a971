"""Waits: each one names its cause, has a timeout, and fails with the end of the log."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from stackwright.local.commands import LocalError, Report, quiet, tail

Probe = Callable[[], str | None]
"""Returns None when the condition is met, otherwise a phrase that names what is missing."""


def wait_for(what: str, probe: Probe, *, limit: float, log: Path | None = None, report: Report = quiet) -> None:
    """Poll `probe` until it returns None, at short intervals first, so that short waits stay short."""
    start = time.monotonic()
    pause = 0.05
    said = None
    while (missing := probe()) is not None:
        waited = time.monotonic() - start
        if missing != said and waited > 0.5:
            report(f"waiting for {what}: {missing}")
            said = missing
        if waited > limit:
            raise LocalError(timeout_message(what, missing, limit, log))
        time.sleep(pause)
        pause = min(pause * 1.3, 0.5)


def timeout_message(what: str, missing: str, limit: float, log: Path | None) -> str:
    message = f"{what} not ready after {limit:.0f} s: {missing}"
    if log is not None and (end := tail(log)):
        message += f"\nThe end of {log}:\n{end}"
    return message
