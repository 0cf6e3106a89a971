"""The port through which controllers read and change resources in any OpenStack. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView, ResourceType
from stackwright.core.plan import Key

# Timeout in seconds of one look and of one action; the number of requests in them depends on the OpenStack.
CALL_SECONDS = 300.0
LATE = f"the OpenStack did not respond within {CALL_SECONDS:.0f} s"


@dataclass(frozen=True)
class Subscription:
    """An object to reconcile after changes, and the ids of the resources in its record.

    kinds  types of resources that the object can have
    waits  the object waits for a change, so the cloud is listed often; otherwise only as often as drift detection needs
    begun  resources may have been created for it already, perhaps by an earlier process or in another cluster
    serves names of those that wait for its decisions; for each new one, the lists must be newer than its first look
    moved  UID of an object that came from another cluster or from a backup, and empty for all others: its resources may
           have been created after the last lists began
    """

    controller: str
    key: Key
    uid: str
    kinds: tuple[ResourceType, ...]
    ids: frozenset[tuple[str, str]] = frozenset()
    waits: bool = False
    begun: bool = True
    serves: frozenset[str] = frozenset()
    moved: str = ""


@dataclass(frozen=True)
class Query:
    """A query for resources that the operator does not manage. `where` holds filters of the API; a list value must
    match in full.

    whole  the caller needs the complete list; an incomplete one raises TransientCloudError
    """

    type: str
    where: tuple[tuple[str, Any], ...]
    whole: bool = False

    def __str__(self) -> str:
        return f"{self.type} with {', '.join(f'{name} {value}' for name, value in self.where)}"


def query(type_: str, **where: Any) -> Query:
    """A Query without the filters that are not set."""
    pairs = ((name, tuple(v) if isinstance(v, list) else v) for name, v in where.items())
    return Query(type_, tuple(sorted((name, v) for name, v in pairs if v not in (None, "", ()))))


def complete_query(type_: str, **where: Any) -> Query:
    """A Query that needs the complete list."""
    return replace(query(type_, **where), whole=True)


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
        """Bound all requests of one observation of an object: after CALL_SECONDS it raises TransientCloudError.

        The next observations reuse its responses, for an hour or until one of them ends without TransientCloudError.
        """

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        """Register an object, and list the resources that its view needs. All subscriptions share the lists of a
        project.

        While the object waits for a change, its project is watched and changes of its resources wake it. Without a
        renewal, the subscription ends after an hour.
        """

    def view(self, subscription: Subscription) -> ProjectView:
        """The resources of a subscribed object as of the last lists, without a request."""

    async def find(self, cloud: CloudRef, asked: Query) -> tuple[CloudResource, ...]:
        """The resources found. A response may be a minute old, or from an earlier, incomplete observation."""

    async def find_all(self, cloud: CloudRef, asked: Sequence[Query]) -> Sequence[tuple[CloudResource, ...]]:
        """Execute several queries concurrently; callers pass only a few."""

    async def submit(self, call: CloudCall) -> Done | Deferred:
        """Execute a call of an object that is subscribed with the credentials of the call.

        Deleting an absent resource is not an error. The call times out after CALL_SECONDS; a call of many requests
        continues when it is repeated.
        """


async def look(clouds: Clouds, cloud: CloudRef, subscription: Subscription) -> ProjectView:
    """Subscribe an object, and view its resources."""
    await clouds.subscribe(cloud, subscription)
    return clouds.view(subscription)


async def run(clouds: Clouds, call: CloudCall) -> str:
    """Submit a call; returns the id. Raises TransientCloudError if it is deferred."""
    match await clouds.submit(call):
        case Done(id_):
            return id_
        case Deferred(reason, text, after):
            raise TransientCloudError(reason, text, after)
