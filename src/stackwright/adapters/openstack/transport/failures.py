"""Failures of a login or of an identity, of which two prove that the credentials are lost."""

from __future__ import annotations

import math
import threading

from stackwright.core.openstack.errors import UNSURE, Reason, TerminalCloudError, TransientCloudError

CONFIRM = 5.0  # seconds between two failures that together prove that credentials are lost
LAPSE = 300.0  # seconds after which an earlier failure proves nothing
# Responses after a successful login: an error of the login itself is another one, such as Unreachable.
ACCEPTED = (
    Reason.CONFLICT,
    Reason.FORBIDDEN,
    Reason.NOT_FOUND,
    Reason.QUOTA_EXCEEDED,
    Reason.REJECTED,
    Reason.SERVER_ERROR,
)


class Failures:
    """Those since the last success, by the seconds of a monotonic clock. Threads share it."""

    def __init__(self) -> None:
        self._times: tuple[float, float] | None = None  # of the first and of the last one
        self._lock = threading.Lock()

    def note(self, error: TransientCloudError | TerminalCloudError, now: float) -> None:
        """Set `sure` of an error that may mean lost credentials. One after a successful login is a success."""
        if error.cause in ACCEPTED:
            self.clear()
        if error.cause not in UNSURE:
            return
        with self._lock:
            first = self._times[0] if self._times and now - self._times[1] < LAPSE else now
            self._times = first, now
        error.sure = now - first >= CONFIRM

    def prove(self, now: float) -> bool:
        """Whether they still prove it."""
        with self._lock:
            first, last = self._times or (now, now)
        return now - last < LAPSE and last - first >= CONFIRM

    @property
    def last(self) -> float:
        """Time of the last one; before all times without any."""
        with self._lock:
            return self._times[1] if self._times else -math.inf

    def clear(self) -> None:
        with self._lock:
            self._times = None
