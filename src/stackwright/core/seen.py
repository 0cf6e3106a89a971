"""What a controller sees of an object that has something in an OpenStack, and what a cloud's refusal means. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from stackwright.core.clouds import CloudRef, Denied, Look, Trouble
from stackwright.core.conditions import Condition, blocked, waiting
from stackwright.core.objects import has_finalizer, is_deleting
from stackwright.core.plan import Object

AUTHENTICATION, CLOUD = "OpenStackAuthenticationSucceeded", "CloudReachable"
LOGIN = (
    "AuthenticationFailed",
    "CredentialsMissing",
    "CredentialsInvalid",
    "IdentityNotFound",
    "BlockedIdentityAccessDenied",
)


@dataclass(frozen=True)
class Seen:
    """cloud    None while nobody knows where to log in
    trouble  why the cloud could not be asked; there is no look then
    after    seconds until it is worth asking again, where the cloud says so
    """

    obj: Object
    now: float
    spec: Mapping[str, Any]
    errors: tuple[str, ...] = ()
    paused: bool = False
    cloud: CloudRef | None = None
    trouble: Condition | None = None
    look: Look | None = None
    after: float | None = None

    @property
    def status(self) -> Mapping[str, Any]:
        return self.obj.get("status") or {}

    @property
    def asks(self) -> bool:
        """Whether its cloud has to be asked at all."""
        if self.paused or not self.spec.get("identityRef"):
            return False
        if is_deleting(self.obj):
            return has_finalizer(self.obj) and self.spec.get("credentialsLostPolicy") != "Orphan"
        return not self.errors


S = TypeVar("S", bound=Seen)


def troubled(seen: S, error: Trouble | Denied) -> S:
    """With what the cloud answered instead."""
    stage = AUTHENTICATION if error.reason in LOGIN else CLOUD
    if isinstance(error, Trouble):
        return replace(seen, trouble=waiting(stage, str(error), error.reason), after=error.after)
    return replace(seen, trouble=blocked(stage, error.reason, str(error)))
