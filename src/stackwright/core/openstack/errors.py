"""Errors of requests to an OpenStack. Pure."""

from __future__ import annotations

from enum import StrEnum

from stackwright.core.conditions import steady
from stackwright.core.errors import TerminalError, TransientError


class Reason(StrEnum):
    """The values are reasons of conditions, which users see."""

    AUTHENTICATION_FAILED = "AuthenticationFailed"
    CONFLICT = "Conflict"
    CREDENTIALS_CHANGED = "CredentialsChanged"
    CREDENTIALS_INVALID = "CredentialsInvalid"
    CREDENTIALS_MISSING = "CredentialsMissing"
    FORBIDDEN = "Forbidden"
    IDENTITY_ACCESS_DENIED = "IdentityAccessDenied"
    IDENTITY_NOT_FOUND = "IdentityNotFound"
    INVALID_SPEC = "InvalidSpec"
    NO_CLUSTER_IDENTITY = "NoClusterIdentity"
    NOT_FOUND = "NotFound"
    OTHER_PROJECT = "OtherProject"
    QUOTA_EXCEEDED = "QuotaExceeded"
    RATE_LIMITED = "RateLimited"
    REJECTED = "Rejected"
    SERVER_ERROR = "ServerError"
    SERVICE_MISSING = "ServiceMissing"
    UNREACHABLE = "Unreachable"
    WAITING_FOR_TURN = "WaitingForTurn"
    WAITING_FOR_USER_DATA = "WaitingForUserData"


UNSURE = (Reason.AUTHENTICATION_FAILED, Reason.CREDENTIALS_INVALID, Reason.CREDENTIALS_MISSING)
CONFIRM = 5.0  # seconds between two failures that together prove that credentials are lost
LAPSE = 300.0  # seconds after which an earlier failure proves nothing


class Failures:
    """Failures of one login since its last success, by the seconds of a monotonic clock. Threads may share it."""

    def __init__(self) -> None:
        self._times: tuple[float, float] | None = None  # of the first and of the last one

    def note(self, error: TransientCloudError, now: float) -> None:
        """Set `sure` of an error that may mean lost credentials."""
        if error.cause not in UNSURE:
            return
        times = self._times  # read once: another thread may clear it
        first = times[0] if times and now - times[1] < LAPSE else now
        self._times = first, now
        error.sure = now - first >= CONFIRM

    def clear(self) -> None:
        self._times = None


class TransientCloudError(TransientError):
    """A transient error of the cloud. `reason` is the reason of the condition, `after` the seconds until a retry.

    sure  whether it is proven; that credentials are lost is proven by a second failure only (`Failures`)
    """

    def __init__(self, cause: Reason, text: str, after: float | None = None, *, sure: bool = False) -> None:
        super().__init__(steady(text))
        self.cause, self.after = Reason(cause), after
        self.sure = sure or self.cause not in UNSURE
        self.reason = self.cause.value


class Late(TransientCloudError):
    """A slow request is still in progress; a repetition of the same call returns its response."""


class ListTooLong(TransientCloudError):
    """A list exceeds the limit of its items or of its bytes."""


class TerminalCloudError(TerminalError):
    """A terminal error of the cloud: a user must change something. `reason` is the reason of the condition."""

    def __init__(self, cause: Reason, text: str) -> None:
        super().__init__(steady(text))
        self.cause = Reason(cause)
        self.reason = f"Blocked{self.cause}"
