"""An OpenStack for `stackwright plan`: reads use the real cloud, changes are simulated in memory.

If the real cloud cannot be reached from this machine, recorded resources are assumed to exist and names to resolve: the
forecast then shows what would be created, not whether the cloud would accept it. Missing or invalid credentials do not
depend on this machine: objects get that error, as in the operator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import Any, TypeVar

from stackwright.core.digest import digest
from stackwright.core.openstack.clouds import (
    ADD_INTERFACE,
    ADD_PORT,
    ADD_VOLUME,
    CloudCall,
    CloudRef,
    CloudResource,
    Clouds,
    Deferred,
    Done,
    ProjectView,
    Query,
    Subscription,
    look,
    mark,
)
from stackwright.core.openstack.errors import Late, Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.plan import Key

T = TypeVar("T")
PATIENCE = 60.0  # seconds for long lists, and for the second request that confirms that a recorded resource is gone
PAUSE = 1.0  # seconds between two looks
CREDENTIALS = (Reason.CREDENTIALS_MISSING, Reason.CREDENTIALS_INVALID)


class ForecastClouds:
    """asked     the port to the real clouds; None means that no cloud is asked
    assuming  whether clouds without valid credentials count as unreachable
    """

    def __init__(self, asked: Clouds | None = None, *, assuming: bool = False) -> None:
        self._asked = asked
        self._assuming = assuming
        self._refused: dict[str, TransientCloudError | TerminalCloudError] = {}  # uid → error of its credentials
        self._things: dict[tuple[str, str], CloudResource | None] = {}  # changed here; None means deleted
        self._seen: dict[tuple[str, str], CloudResource] = {}  # as last read
        self._views: dict[
            str, tuple[Subscription, ProjectView]
        ] = {}  # uid → the object as last looked for, and what was seen
        self.unheard: dict[CloudRef, str] = {}  # clouds that could not be asked → cause

    def in_time(self, controller: str, key: Key) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def subscribe(self, cloud: CloudRef, asker: Subscription) -> None:
        # As an object that waits, it has all types listed: for others, a new process lists servers only.
        real = replace(asker, ids=asker.ids - self._things.keys(), waits=True, begun=False)
        before, _ = self._views.get(asker.uid, (None, None))
        if before and real.ids <= before.ids and real.kinds == before.kinds:
            return
        found = await self._real(cloud, real)
        self._views[asker.uid] = real, found
        self._seen.update({(thing.what, thing.id): thing for thing in found.things})

    def view(self, asker: Subscription) -> ProjectView:
        if error := self._refused.get(asker.uid):
            raise error
        _, real = self._views[asker.uid]
        found = {(thing.what, thing.id): thing for thing in real.things}
        own = f":{asker.uid}:"
        for key, thing in self._things.items():
            if thing is None:
                found.pop(key, None)
            elif key in asker.ids or own in thing.mark:
                found[key] = thing
        return replace(real, things=tuple(found.values()))

    async def _real(self, cloud: CloudRef, asker: Subscription) -> ProjectView:
        if self._asked is not None and cloud not in self.unheard:
            try:
                return await _patiently(partial(look, self._asked, cloud, asker), lambda found: found.certain)
            except (TransientCloudError, TerminalCloudError) as error:
                if self._is_refusal(error):
                    self._refused[asker.uid] = error
                else:
                    self.unheard[cloud] = str(error)
        return ProjectView(tuple(CloudResource(what, id_, state=TYPES[what].built) for what, id_ in sorted(asker.ids)))

    async def find(self, cloud: CloudRef, asked: Query) -> tuple[CloudResource, ...]:
        if self._asked is not None and cloud not in self.unheard:
            try:
                return await _patiently(partial(self._asked.find, cloud, asked))
            except (TransientCloudError, TerminalCloudError) as error:
                if self._is_refusal(error):
                    raise
                self.unheard[cloud] = str(error)
        where: dict[str, Any] = dict(asked.where)
        return (
            CloudResource(asked.what, _id(asked.what, f"(id of {asked})"), str(where.get("name") or ""), facts=where),
        )

    def _is_refusal(self, error: TransientCloudError | TerminalCloudError) -> bool:
        return error.cause in CREDENTIALS and not self._assuming

    async def find_all(self, cloud: CloudRef, asked: Sequence[Query]) -> Sequence[tuple[CloudResource, ...]]:
        return [await self.find(cloud, each) for each in asked]

    async def submit(self, call: CloudCall) -> Done | Deferred:
        what, name = call.slot
        if call.do == "create":
            made = self._new(what, f"new {what} {name}".rstrip(), call.uid)
            address = {"floating_ip_address": f"(address of {made})"} if what == "floating-ip" else {}
            facts = {**call.body, **TYPES[what].detached, **address}
            known = mark(call.uid, call.slot)
            self._things[what, made] = CloudResource(
                what, made, str(call.body.get("name") or ""), TYPES[what].built, known, facts
            )
            return Done(made)
        if call.do == "delete":
            self._things[what, call.id] = None
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
        return next(id_ for id_ in (_id(what, each, uid) for each in names) if (what, id_) not in self._things)

    def _now(self, key: tuple[str, str]) -> CloudResource | None:
        return self._things[key] if key in self._things else self._seen.get(key)

    def _attach(self, server: tuple[str, str], body: Mapping[str, Any]) -> None:
        """Attach a port or volume, and update the server as Nova would report it."""
        thing = self._now(server)
        if thing is None:
            return
        if volume := body.get(ADD_VOLUME):
            self._change(server, volumes=[*thing.facts["volumes"], volume])
        elif port := self._now(("port", body[ADD_PORT])):
            entry = {"addr": "(its address)", "OS-EXT-IPS-MAC:mac_addr": port.facts.get("mac_address")}
            self._change(server, addresses={**thing.facts["addresses"], port.name: [entry]})

    def _change(self, key: tuple[str, str], **facts: Any) -> None:
        if thing := self._now(key):
            self._things[key] = replace(thing, facts={**thing.facts, **facts})


async def _patiently(ask: Callable[[], Awaitable[T]], enough: Callable[[T], bool] = lambda found: True) -> T:
    """The answer once it suffices. An operator would be reconciled again instead, but a forecast asks once."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE
    while True:
        try:
            found = await ask()
            if enough(found) or loop.time() >= until:
                return found
        except Late:
            if loop.time() >= until:
                raise
        await asyncio.sleep(PAUSE)


def _id(what: str, text: str, uid: str = "") -> str:
    if not TYPES[what].named:
        return text
    made = digest(text, uid)
    return f"00000000-0000-4000-{made[:4]}-{made[4:]}"
