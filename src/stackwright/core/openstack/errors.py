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
    TOKEN_REFUSED = "TokenRefused"  # noqa: S105 - no password
    UNREACHABLE = "Unreachable"
    WAITING_FOR_TURN = "WaitingForTurn"
    WAITING_FOR_USER_DATA = "WaitingForUserData"


# Causes that one response does not prove. Looks prove the first ones, which no connection can; log-ins the others.
BY_LOOKS = (Reason.IDENTITY_NOT_FOUND, Reason.IDENTITY_ACCESS_DENIED, Reason.OTHER_PROJECT)
UNSURE = (Reason.AUTHENTICATION_FAILED, Reason.CREDENTIALS_INVALID, Reason.CREDENTIALS_MISSING, *BY_LOOKS)


class TransientCloudError(TransientError):
    """A transient error of the cloud. `reason` is the reason of the condition, `after` the seconds until a retry.

    sure  whether it is proven; that credentials are lost is proven by a second failure only
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
    """A terminal error of the cloud: a user must change something. `reason` is the reason of the condition.

    sure  as above
    """

    def __init__(self, cause: Reason, text: str, *, sure: bool = False) -> None:
        super().__init__(steady(text))
        self.cause = Reason(cause)
        self.sure = sure or self.cause not in UNSURE
        self.reason = f"Blocked{self.cause}"
