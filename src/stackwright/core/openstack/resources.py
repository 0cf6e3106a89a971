"""Resources of an object in an OpenStack, as controllers see them. Pure.

They are found in two ways: by the id in the object's status (the record), and by a mark that the create request itself
writes into the resource. The mark finds resources of a process that ended before it recorded the id. Marks are in
Nova's tags, Cinder's metadata and Neutron's descriptions: its tags need a second request.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stackwright.api.fields.mark import is_mark_of, mark_of
from stackwright.core.digest import digest
from stackwright.core.plan import Key

ResourceType = str  # name of a type in resource_types.TYPES
ResourceKey = tuple[ResourceType, str]  # a resource of an object: its type, and its name among resources of this type
SERVER_KEY: ResourceKey = ("server", "")
CREATED = "created_at"  # fact of a resource: creation time in seconds since 1970
# Fact of a volume: its metadata contains its own id, which is written after the response to the create request.
ANSWERED = "answered"


def mark(uid: str, resource_key: ResourceKey) -> str:
    """The mark of a resource."""
    return mark_of(uid, digest(resource_key))


@dataclass(frozen=True)
class CloudRef:
    """A reference to credentials: a cloud of the clouds.yaml in a Secret. An empty region means that of clouds.yaml.

    granted  whether an administrator named the Secret, by an OpenStackClusterIdentity
    """

    secret: Key
    cloud: str
    region: str = ""
    granted: bool = False

    def __str__(self) -> str:
        return f"cloud {self.cloud} of Secret {'/'.join(self.secret)}"


@dataclass(frozen=True)
class CloudResource:
    """An OpenStack resource.

    state   status as Nova, Cinder or Neutron reports it
    facts   further fields that decisions read, under the names of the API
    """

    type: str
    id: str
    name: str = ""
    state: str = ""
    mark: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def weight(self) -> int:
        """Approximate size in bytes. Cached, because every look needs it."""
        return 400 + len(ascii(self))


def marked_by(thing: CloudResource, uid: str) -> bool:
    """Whether the resource was created for the object with this identity."""
    return is_mark_of(thing.mark, uid)


@dataclass(frozen=True)
class ProjectView:
    """The resources of an object: those in its record that exist, and all that carry its mark.

    settled         no earlier request can still be in progress, so a resource of a listed type that is absent here
                    does not exist
    unlisted_types  types that were not listed: for objects that do not wait, most types are listed rarely
    place           project id, followed by @region if the credentials name a region; empty before the first response of
                    the cloud
    lacking         recorded types in `unlisted_types` whose API the cloud lacks → service of that API
    """

    things: tuple[CloudResource, ...] = ()
    settled: bool = True
    unlisted_types: frozenset[str] = frozenset()
    place: str = ""
    lacking: Mapping[ResourceType, str] = field(default_factory=dict)

    @property
    def certain(self) -> bool:
        """Whether a resource of any type that is absent here does not exist."""
        return self.settled and not self.unlisted_types

    def proves(self, type_: ResourceType) -> bool:
        """Whether a resource of this type that is absent here does not exist."""
        return self.settled and type_ not in self.unlisted_types

    @cached_property
    def _by_id(self) -> Mapping[tuple[str, str], CloudResource]:
        """An index, because the OpenStack determines the number of resources and each may be looked up."""
        return {(thing.type, thing.id): thing for thing in reversed(self.things)}

    @cached_property
    def _by_mark(self) -> Mapping[str, Sequence[CloudResource]]:
        found: dict[str, list[CloudResource]] = {}
        for thing in self.things:
            found.setdefault(thing.mark, []).append(thing)
        return found

    def get(self, resource_key: ResourceKey, id_: str) -> CloudResource | None:
        return self._by_id.get((resource_key[0], id_))

    def marked(self, uid: str, resource_key: ResourceKey) -> tuple[CloudResource, ...]:
        """The resources with the mark of a resource key: usually none or one.

        Several exist if a create request succeeded although it seemed to fail, or if a volume was copied. Resources
        with the fact ANSWERED sort first, then the oldest.
        """
        return tuple(sorted(self._by_mark.get(mark(uid, resource_key), ()), key=_rank))


def _rank(thing: CloudResource) -> tuple[bool, float, str]:
    created = thing.facts.get(CREATED)
    return (not thing.facts.get(ANSWERED), math.inf if created is None else created, thing.id)


def ids(things: Iterable[tuple[ResourceKey, str]]) -> frozenset[tuple[str, str]]:
    return frozenset((resource_key[0], id_) for resource_key, id_ in things)
