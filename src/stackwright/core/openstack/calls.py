"""Changes in an OpenStack, as actions of a plan. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from stackwright.core.openstack.resources import CloudRef, ResourceKey
from stackwright.core.plan import Action, Key

Do = Literal["create", "update", "delete"]
REMOVALS = 10  # deletions of OpenStack resources per plan: each may take a minute
DUPLICATE = "duplicate"  # why a resource is deleted that a repeated request created
A = TypeVar("A", bound=Action)
# Keys of an update body that attach a port or a volume by a separate request. The value is an id.
ADD_INTERFACE, ADD_PORT, ADD_VOLUME = "add_interface", "add_port", "add_volume"


@dataclass(frozen=True)
class PendingId:
    """A placeholder in a plan for the id of a resource that a call of the same plan creates."""

    resource_key: ResourceKey

    def __str__(self) -> str:
        return f"(known after {' '.join(part for part in self.resource_key if part)} is created)"


@dataclass(frozen=True)
class CloudCall(Action):
    """One change in an OpenStack.

    body       request body, without the mark
    user_data  location of a server's user data: the key of a Secret, and the key of its field
    uid        UID of the object to which the resource belongs
    """

    verb = "openstack"
    cloud: CloudRef
    do: Do
    resource_key: ResourceKey
    uid: str
    id: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    user_data: tuple[Key, str] | None = None
    why: str = ""

    @property
    def target(self) -> str:
        return f"{self.do} {self.resource}"

    @property
    def resource(self) -> str:
        """Type, name and id of the resource, as text."""
        type_, name = self.resource_key
        shown = str(self.body.get("name") or name)
        return f"{type_}{f' {shown}' if shown else ''}{f' {self.id}' if self.id else ''}"


def limit_deletions(actions: Iterable[A]) -> tuple[A, ...]:
    """At most REMOVALS deletions per plan: the remote cloud controls how many marked resources it reports."""
    removals = itertools.count()
    return tuple(each for each in actions if not removes(each) or next(removals) < REMOVALS)


def removes(action: Action) -> bool:
    return isinstance(action, CloudCall) and action.do == "delete"


def resolve_pending(value: Any, made: Mapping[ResourceKey, str]) -> Any:
    """A status with each PendingId replaced by its id in `made`, without the list items of resources not created."""
    if isinstance(value, PendingId):
        return made[value.resource_key]
    if isinstance(value, Mapping):
        return {name: resolve_pending(each, made) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_pending(each, made) for each in value if not _is_unmade(each, made)]
    return value


def _is_unmade(item: Any, made: Mapping[ResourceKey, str]) -> bool:
    ids = [each for each in item.values() if isinstance(each, PendingId)] if isinstance(item, Mapping) else []
    return any(each.resource_key not in made for each in ids)
