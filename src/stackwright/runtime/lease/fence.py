"""The fence allows or blocks the writes of this process; its thread ends the process when it may no longer write.

All times are of one clock of this machine (`uptime`), which continues while the process or the machine is suspended.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

GRACE = 2.0  # seconds for the process to end by itself after its last write was permitted
TICK = 0.5  # seconds between two checks of the guard
SAY = 0.5  # seconds for the last line of the log: its reader may hang
FAILED = 1  # exit code
LATE = "the Lease was not renewed in time: the API did not respond, or this process hung or was stopped"
NOT_HELD = "this operator does not hold the Lease"
log = structlog.get_logger()


class LeaseLost(BaseException):
    """A process without the Lease must not write. This is a BaseException, so that no `except Exception` catches it."""


def is_lost(error: BaseException) -> bool:
    """Whether an error is LeaseLost, or a group that contains it."""
    return isinstance(error, LeaseLost) or (
        isinstance(error, BaseExceptionGroup) and error.subgroup(LeaseLost) is not None
    )


def uptime() -> float:
    """Seconds of a clock that cannot be set, and that continues while the machine sleeps, if possible."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class WriteFence:
    """Permits writes until a time, which each renewal of the Lease postpones. A closed fence does not open again."""

    def __init__(self, now: Callable[[], float] = uptime) -> None:
        self._now = now
        self._until: float | None = None  # None: no writes of this process can be in progress
        self.why = ""  # the cause for which it was closed

    def extend(self, until: float) -> None:
        """Permit writes until this time. Raises LeaseLost if they were permitted and are no longer."""
        if self._until is not None or self.why:
            self.check()
        self._until = until

    def check(self) -> None:
        """Raise LeaseLost unless this process may write now."""
        if self.why or self._until is None:
            raise LeaseLost(self.why or NOT_HELD)
        if self.left() <= 0:
            self.lost(LATE)
            raise LeaseLost(LATE)

    def left(self) -> float:
        """Seconds in which writes may be in progress; at most 0 if none may."""
        return 0.0 if self._until is None else self._until - self._now()

    def close(self, why: str) -> None:
        """Permit no more writes; those in progress keep their deadline."""
        self.why = self.why or why

    def lost(self, why: str) -> None:
        """Permit no more writes; the process has GRACE to end those in progress."""
        self.close(why)
        if self._until is not None:
            self._until = min(self._until, self._now())

    def ended(self) -> None:
        """No write is in progress, and none will begin."""
        self.close(NOT_HELD)
        self._until = None

    @property
    def armed(self) -> bool:
        """Whether writes of this process may be in progress."""
        return self._until is not None

    def overdue(self) -> bool:
        """Whether the process should have ended, because GRACE has passed since its permission ended."""
        until = self._until  # read once: this is called in another thread
        return until is not None and self._now() >= until + GRACE


def end(why: str) -> None:
    """End the process at once, with its children; Python itself would wait for threads, whose requests take minutes."""
    for pid in children():
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    said = threading.Thread(target=log.critical, args=("the operator ends at once, because another one may write",),
                            kwargs={"cause": why}, daemon=True)  # fmt: skip
    said.start()
    said.join(SAY)
    os._exit(FAILED)


def children() -> Iterator[int]:
    """Processes that this one started, such as helm."""
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread that ended
            yield from map(int, path.read_text().split())


@contextmanager
def guarded(fence: WriteFence, act: Callable[[str], None] = end, tick: float = TICK) -> Iterator[None]:
    """End the process when it is overdue, even if the event loop hangs or the process was suspended."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(tick):
            if fence.overdue():
                act(fence.why or LATE)
                return

    threading.Thread(target=watch, name="lease", daemon=True).start()
    try:
        yield
    finally:
        if not fence.armed:  # otherwise threads may still write
            done.set()
