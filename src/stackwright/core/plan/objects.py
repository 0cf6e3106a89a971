"""Actions on objects of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.plan.action import Action, Key, Object


def _path(obj: Object) -> str:
    """namespace/name, or the name alone."""
    meta = obj["metadata"]
    return "/".join(part for part in (meta.get("namespace"), meta["name"]) if part)


@dataclass(frozen=True)
class Apply(Action):
    """Server-side apply of an object. Its annotation stackwright.dev/digest is the digest of the last apply."""

    verb = "apply"
    kind: Kind
    obj: Object
    why: str = ""

    @property
    def target(self) -> str:
        return f"{self.kind.kind} {_path(self.obj)}"


@dataclass(frozen=True)
class Delete(Action):
    verb = "delete"
    kind: Kind
    key: Key
    why: str = ""

    @property
    def target(self) -> str:
        return f"{self.kind.kind} {'/'.join(self.key)}"


@dataclass(frozen=True)
class Finalizer(Action):
    """Adds or removes our finalizer on the reconciled object.

    note  annotations to write with it
    """

    verb = "finalizer"
    kind: Kind
    obj: Object
    present: bool
    note: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return f"{'on' if self.present else 'off'} {self.kind.kind} {_path(self.obj)}"


@dataclass(frozen=True)
class SetLabel(Action):
    """Sets one label of an object that another controller owns, e.g. a Pod of a StatefulSet."""

    verb = "label"
    kind: Kind
    key: Key
    label: str
    value: str

    @property
    def target(self) -> str:
        return f"{self.kind.kind} {'/'.join(self.key)} {self.label}={self.value}"


@dataclass(frozen=True)
class SetStatus(Action):
    """Applies status fields of an object of another controller, e.g. that an IP address claim is fulfilled."""

    verb = "tell"
    kind: Kind
    obj: Object
    status: Mapping[str, Any]

    @property
    def target(self) -> str:
        return f"{self.kind.kind} {_path(self.obj)}"


@dataclass(frozen=True)
class GrowClaim(Action):
    """Requests a larger size of a PersistentVolumeClaim. A refusal only causes an Event: the old size still works."""

    verb = "grow"
    claim: Object
    size: str

    @property
    def target(self) -> str:
        return f"PersistentVolumeClaim {_path(self.claim)} to {self.size}"


@dataclass(frozen=True)
class Warn(Action):
    """A warning Event about an object that has no conditions of ours, e.g. a claim that cannot be provisioned."""

    verb = "warn"
    obj: Object
    reason: str
    message: str

    @property
    def target(self) -> str:
        return f"{self.obj['kind']} {_path(self.obj)}: {self.message}"
