"""OpenStack resources as controllers see them, and the port through which controllers read and change them. Pure.

Resources created for an object are found in two ways: by the id in the object's status (the record), and by a mark
that the create request itself writes into the resource. The mark finds resources whose creator died before it could
write the id. Marks are in Nova's tags, Cinder's metadata and Neutron's descriptions: its tags need a second request.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

from stackwright.core.digest import digest
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.plan import Action, Key

Do = Literal["create", "update", "delete"]
ResourceType = str  # name of a type in resource_types.TYPES
ResourceKey = tuple[ResourceType, str]  # a resource of an object: its type, and its name among resources of this type
SERVER_KEY: ResourceKey = ("server", "")
PREFIX = "stackwright"
REMOVALS = 10  # deletions of OpenStack resources per plan: each may take a minute
# Timeout in seconds of one look and of one action; the number of requests in them depends on the OpenStack.
LONGEST = 300.0
LATE = f"the OpenStack did not respond within {LONGEST:.0f} s"
A = TypeVar("A", bound=Action)
CREATED = "created_at"  # fact of a volume: creation time in seconds since 1970
# Fact of a volume: its metadata contains its own id, which is written after the create request was answered.
ANSWERED = "answered"
# Keys of an update body that attach a port or a volume by a separate request. The value is an id.
ADD_INTERFACE, ADD_PORT, ADD_VOLUME = "add_interface", "add_port", "add_volume"


def mark(uid: str, slot: ResourceKey) -> str:
    """The mark of a resource: at most 60 characters, the limit of Nova's tags."""
    return f"{PREFIX}:{uid}:{digest(slot)[:8]}"


@dataclass(frozen=True)
class CloudRef:
    """A reference to credentials: a cloud of the clouds.yaml in a Secret. An empty region means that of clouds.yaml."""

    secret: Key
    cloud: str
    region: str = ""

    def __str__(self) -> str:
        return f"cloud {self.cloud} of Secret {'/'.join(self.secret)}"


@dataclass(frozen=True)
class CloudResource:
    """An OpenStack resource.

    state   status as Nova, Cinder or Neutron reports it
    facts   further fields that decisions read, under the names of the API
    """

    what: str
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
    return thing.mark.startswith(f"{PREFIX}:{uid}:")


@dataclass(frozen=True)
class ProjectView:
    """The resources of an object: those in its record that exist, and all that carry its mark.

    settled  no earlier request can still be in progress, so a resource of a listed type that is absent here is gone
    unseen   types that were not listed: for objects that wait for nothing, types other than server are listed rarely
    place    project id, followed by @region if the credentials name a region; empty until a cloud has answered
    """

    things: tuple[CloudResource, ...] = ()
    settled: bool = True
    unseen: frozenset[str] = frozenset()
    place: str = ""

    @property
    def certain(self) -> bool:
        """Whether a resource of any type that is absent here does not exist."""
        return self.settled and not self.unseen

    @cached_property
    def _by_id(self) -> Mapping[tuple[str, str], CloudResource]:
        """An index, because the OpenStack determines the number of resources and each may be looked up."""
        return {(thing.what, thing.id): thing for thing in reversed(self.things)}

    @cached_property
    def _by_mark(self) -> Mapping[str, Sequence[CloudResource]]:
        found: dict[str, list[CloudResource]] = {}
        for thing in self.things:
            found.setdefault(thing.mark, []).append(thing)
        return found

    def get(self, slot: ResourceKey, id_: str) -> CloudResource | None:
        return self._by_id.get((slot[0], id_))

    def marked(self, uid: str, slot: ResourceKey) -> tuple[CloudResource, ...]:
        """The resources with the mark of a slot: usually none or one.

        Several exist if a create request succeeded although it seemed to fail, or if a volume was copied. Resources
        whose create request was answered sort first, then the oldest.
        """
        return tuple(sorted(self._by_mark.get(mark(uid, slot), ()), key=_rank))


def _rank(thing: CloudResource) -> tuple[bool, float, str]:
    created = thing.facts.get(CREATED)
    return (not thing.facts.get(ANSWERED), math.inf if created is None else created, thing.id)


@dataclass(frozen=True)
class Subscription:
    """A subscription: the object to reconcile after changes, and the resources it has on record.

    kinds  types of resources that the object can have
    waits  the object waits for a change, so the cloud is listed often; otherwise only as often as drift detection needs
    begun  resources may have been created for it already, perhaps by an earlier process
    serves names of those that wait for its decisions; for each new one, the lists must be newer than its first look
    """

    controller: str
    key: Key
    uid: str
    kinds: tuple[ResourceType, ...]
    ids: frozenset[tuple[str, str]] = frozenset()
    waits: bool = False
    begun: bool = True
    serves: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Query:
    """A search for resources that are not ours. `where` holds filters of the API; a list value must match in full.

    whole  the caller needs the complete list; an incomplete one raises TransientCloudError
    """

    what: str
    where: tuple[tuple[str, Any], ...]
    whole: bool = False

    def __str__(self) -> str:
        return f"{self.what} with {', '.join(f'{name} {value}' for name, value in self.where)}"


def query(what: str, **where: Any) -> Query:
    """A Query without the filters that are not set."""
    pairs = ((name, tuple(v) if isinstance(v, list) else v) for name, v in where.items())
    return Query(what, tuple(sorted((name, v) for name, v in pairs if v not in (None, "", ()))))


def complete_query(what: str, **where: Any) -> Query:
    """A Query that needs the complete list."""
    return replace(query(what, **where), whole=True)


@dataclass(frozen=True)
class PendingId:
    """A placeholder in a plan for the id of a resource that a call of the same plan creates."""

    slot: ResourceKey

    def __str__(self) -> str:
        return f"(known after {' '.join(part for part in self.slot if part)} is created)"


@dataclass(frozen=True)
class CloudCall(Action):
    """One change in an OpenStack.

    body       request body, without the mark
    user_data  key of a Secret, and the key in it, that holds the user data of a server
    uid        identity of the object that has the resource
    """

    verb = "openstack"
    cloud: CloudRef
    do: Do
    slot: ResourceKey
    uid: str
    id: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    user_data: tuple[Key, str] | None = None
    why: str = ""

    @property
    def target(self) -> str:
        what, name = self.slot
        shown = str(self.body.get("name") or name)
        return f"{self.do} {what}{f' {shown}' if shown else ''}{f' {self.id}' if self.id else ''}"


def limit_deletions(actions: Iterable[A]) -> tuple[A, ...]:
    """At most REMOVALS deletions per plan: the remote cloud controls how many marked resources it reports."""
    removals = itertools.count()
    return tuple(each for each in actions if not removes(each) or next(removals) < REMOVALS)


def removes(action: Action) -> bool:
    return isinstance(action, CloudCall) and action.do == "delete"


@dataclass(frozen=True)
class Done:
    """The call was executed; the id is that of the created, changed or deleted resource."""

    id: str


@dataclass(frozen=True)
class Deferred:
    """The call was not sent. It can be submitted again after `after` seconds, or when the object is woken before."""

    reason: Reason
    text: str
    after: float | None = None


class Clouds(Protocol):
    """The port to all OpenStacks for which credentials exist. Every method but `view` may raise TransientCloudError or
    TerminalCloudError.
    """

    def in_time(self, controller: str, key: Key) -> AbstractAsyncContextManager[None]:
        """Bound all requests of one observation of an object: after LONGEST it raises TransientCloudError.

        The next observations reuse its answers, for an hour or until one of them ends without TransientCloudError.
        """

    async def subscribe(self, cloud: CloudRef, asker: Subscription) -> None:
        """Register an object, and list what its view needs. All subscriptions share the lists of a project.

        While the object waits for a change, its project is watched and changes of its resources wake it. Without a
        renewal, the subscription ends after an hour.
        """

    def view(self, asker: Subscription) -> ProjectView:
        """The resources of a subscribed object as of the last lists, without a request."""

    async def find(self, cloud: CloudRef, asked: Query) -> tuple[CloudResource, ...]:
        """The resources found; an answer may be a minute old, or from an earlier observation that was not completed."""

    async def find_all(self, cloud: CloudRef, asked: Sequence[Query]) -> Sequence[tuple[CloudResource, ...]]:
        """Several searches concurrently; there should be few."""

    async def submit(self, call: CloudCall) -> Done | Deferred:
        """Execute a call of an object that is subscribed with the credentials of the call.

        Deleting an absent resource is not an error. The call times out after LONGEST; a call of many requests
        continues when it is repeated.
        """


async def look(clouds: Clouds, cloud: CloudRef, asker: Subscription) -> ProjectView:
    """Subscribe an object, and view its resources."""
    await clouds.subscribe(cloud, asker)
    return clouds.view(asker)


async def run(clouds: Clouds, call: CloudCall) -> str:
    """Submit a call; returns the id. Raises TransientCloudError if it is deferred."""
    match await clouds.submit(call):
        case Done(id_):
            return id_
        case Deferred(reason, text, after):
            raise TransientCloudError(reason, text, after)


def resolve_pending(value: Any, made: Mapping[ResourceKey, str]) -> Any:
    """A status in which each PendingId is replaced by the id that is known now."""
    if isinstance(value, PendingId):
        return made[value.slot]
    if isinstance(value, Mapping):
        return {name: resolve_pending(each, made) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_pending(each, made) for each in value]
    return value


def ids(things: Iterable[tuple[ResourceKey, str]]) -> frozenset[tuple[str, str]]:
    return frozenset((slot[0], id_) for slot, id_ in things)
