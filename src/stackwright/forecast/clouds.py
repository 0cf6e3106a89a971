"""An OpenStack for `stackwright plan`: reads use the real cloud, changes are simulated in memory.

If the real cloud cannot be reached from this machine, the forecast assumes that recorded resources exist and that names
can be resolved: it then shows the resources to create, not whether the cloud would accept them. Missing or invalid
credentials do not depend on this machine: the objects get the same error as in the operator.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import Any, TypeVar

from stackwright.api.fields.mark import is_mark_of
from stackwright.core.digest import digest
from stackwright.core.openstack.calls import ADD_INTERFACE, ADD_PORT, ADD_VOLUME, CloudCall
from stackwright.core.openstack.clouds import Clouds, Deferred, Done, Query, Subscription, look
from stackwright.core.openstack.errors import Late, Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView, mark
from stackwright.core.plan import Key

T = TypeVar("T")
# Total seconds that a forecast waits: for long lists, and for the second requests that confirm that recorded resources
# are deleted.
PATIENCE = 60.0
PAUSE = 1.0  # seconds between two looks
AT_ONCE = 8  # concurrent looks
CREDENTIALS = (Reason.CREDENTIALS_MISSING, Reason.CREDENTIALS_INVALID)


class ForecastClouds:
    """real      the port to the real clouds; None means that no cloud is queried
    assuming  whether clouds without valid credentials are treated as unreachable
    """

    def __init__(self, real: Clouds | None = None, *, assuming: bool = False) -> None:
        self._clouds = real
        self._assuming = assuming
        self._refused: dict[str, TransientCloudError | TerminalCloudError] = {}  # uid → error of its credentials
        self._changed: dict[tuple[str, str], CloudResource | None] = {}  # None means deleted
        self._seen: dict[tuple[str, str], CloudResource] = {}  # as read last
        self._views: dict[str, tuple[Subscription, ProjectView]] = {}  # uid → the last look of the object
        self.unreachable: dict[CloudRef, str] = {}  # cloud → the error of its queries
        self._registered: dict[str, tuple[CloudRef, Subscription]] | None = None  # by uid, within `together`
        self._patience, self._few = _Patience(PATIENCE), asyncio.Semaphore(AT_ONCE)

    def in_time(self, controller: str, key: Key) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """In this context, objects only register, and get Late. At its end, all their looks run concurrently."""
        self._registered = {}
        try:
            yield
        finally:
            registered, self._registered = self._registered, None
        await asyncio.gather(*(self._look(cloud, subscription) for cloud, subscription in registered.values()))

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        # As an object that waits, it has all types listed: for others, a new process lists servers only.
        real = replace(subscription, ids=subscription.ids - self._changed.keys(), waits=True, begun=False, moved="")
        before, _ = self._views.get(subscription.uid, (None, None))
        if before and real.ids <= before.ids and real.kinds == before.kinds:
            return
        if self._registered is not None:
            self._registered[subscription.uid] = cloud, real
            raise Late(Reason.UNREACHABLE, f"{cloud}: all objects look at it together")
        await self._look(cloud, real)

    async def _look(self, cloud: CloudRef, subscription: Subscription) -> None:
        found = await self._real(cloud, subscription)
        self._views[subscription.uid] = subscription, found
        self._seen.update({(each.type, each.id): each for each in found.things})

    def view(self, subscription: Subscription) -> ProjectView:
        if error := self._refused.get(subscription.uid):
            raise error
        _, real = self._views[subscription.uid]
        found = {(each.type, each.id): each for each in real.things}
        for key, resource in self._changed.items():
            if resource is None:
                found.pop(key, None)
            elif key in subscription.ids or is_mark_of(resource.mark, subscription.uid):
                found[key] = resource
        return replace(real, things=tuple(found.values()))

    async def _real(self, cloud: CloudRef, subscription: Subscription) -> ProjectView:
        if self._clouds is not None and cloud not in self.unreachable:
            try:
                return await self._patiently(
                    partial(look, self._clouds, cloud, subscription), lambda found: found.certain
                )
            except (TransientCloudError, TerminalCloudError) as error:
                if self._is_refusal(error):
                    self._refused[subscription.uid] = error
                else:
                    self.unreachable[cloud] = str(error)
        return ProjectView(
            tuple(CloudResource(what, id_, state=TYPES[what].built) for what, id_ in sorted(subscription.ids))
        )

    async def _patiently(
        self, query: Callable[[], Awaitable[T]], enough: Callable[[T], bool] = lambda found: True
    ) -> T:
        """The response, repeated until `enough` accepts it. The operator would reconcile again instead."""
        with ExitStack() as waits:
            while True:
                try:
                    async with self._few:
                        found = await query()
                    if enough(found) or self._patience.is_over:
                        return found
                except Late:
                    if self._patience.is_over:
                        raise
                waits.enter_context(self._patience.waiting())
                await asyncio.sleep(PAUSE)

    async def find(self, cloud: CloudRef, query: Query) -> tuple[CloudResource, ...]:
        if self._clouds is not None and cloud not in self.unreachable:
            try:
                return await self._patiently(partial(self._clouds.find, cloud, query))
            except (TransientCloudError, TerminalCloudError) as error:
                if self._is_refusal(error):
                    raise
                self.unreachable[cloud] = str(error)
        where: dict[str, Any] = dict(query.where)
        return (
            CloudResource(query.type, _id(query.type, f"(id of {query})"), str(where.get("name") or ""), facts=where),
        )

    def _is_refusal(self, error: TransientCloudError | TerminalCloudError) -> bool:
        return error.cause in CREDENTIALS and not self._assuming

    async def find_all(self, cloud: CloudRef, queries: Sequence[Query]) -> Sequence[tuple[CloudResource, ...]]:
        return [await self.find(cloud, each) for each in queries]

    async def submit(self, call: CloudCall) -> Done | Deferred:
        what, name = call.resource_key
        if call.do == "create":
            id_ = self._new(what, f"new {what} {name}".rstrip(), call.uid)
            address = {"floating_ip_address": f"(address of {id_})"} if what == "floating-ip" else {}
            facts = {**call.body, **TYPES[what].detached, **address}
            known = mark(call.uid, call.resource_key)
            self._changed[what, id_] = CloudResource(
                what, id_, str(call.body.get("name") or ""), TYPES[what].built, known, facts
            )
            return Done(id_)
        if call.do == "delete":
            self._changed[what, call.id] = None
        elif port := call.body.get(ADD_INTERFACE):
            self._change(("port", port), device_id=call.id)
        elif ADD_PORT in call.body or ADD_VOLUME in call.body:
            self._attach((what, call.id), call.body)
        else:
            self._change((what, call.id), **call.body)
        return Done(call.id)

    def _new(self, what: str, text: str, uid: str) -> str:
        """A new id; a number distinguishes resources with the same name."""
        names = chain([f"({text})"], (f"({text} {number})" for number in count(2)))
        return next(id_ for id_ in (_id(what, each, uid) for each in names) if (what, id_) not in self._changed)

    def _now(self, key: tuple[str, str]) -> CloudResource | None:
        return self._changed[key] if key in self._changed else self._seen.get(key)

    def _attach(self, server: tuple[str, str], body: Mapping[str, Any]) -> None:
        """Attach a port or volume, and update the server as Nova would report it."""
        resource = self._now(server)
        if resource is None:
            return
        if volume := body.get(ADD_VOLUME):
            self._change(server, volumes=[*resource.facts["volumes"], volume])
        elif port := self._now(("port", body[ADD_PORT])):
            entry = {"addr": "(its address)", "OS-EXT-IPS-MAC:mac_addr": port.facts.get("mac_address")}
            self._change(server, addresses={**resource.facts["addresses"], port.name: [entry]})

    def _change(self, key: tuple[str, str], **facts: Any) -> None:
        if resource := self._now(key):
            self._changed[key] = replace(resource, facts={**resource.facts, **facts})


class _Patience:
    """The total time that a forecast may wait; concurrent waits are counted once."""

    def __init__(self, seconds: float) -> None:
        self._left, self._waits, self._began = seconds, 0, 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        if not self._waits:
            self._began = asyncio.get_running_loop().time()
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                self._left -= asyncio.get_running_loop().time() - self._began

    @property
    def is_over(self) -> bool:
        waited = asyncio.get_running_loop().time() - self._began if self._waits else 0.0
        return waited >= self._left


def _id(what: str, text: str, uid: str = "") -> str:
    if not TYPES[what].named:
        return text
    number = digest(text, uid)
    return f"00000000-0000-4000-{number[:4]}-{number[4:]}"
