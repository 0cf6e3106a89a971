"""Errors that the ports raise, and the reasons of the conditions that report them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from stackwright.api.meta import Kind
from stackwright.core.plan import Key


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
