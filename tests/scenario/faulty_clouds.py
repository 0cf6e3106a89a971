"""A faulty OpenStack in memory: slow, delayed, and with a different text for each rejection."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Deferred, Done, Query, Subscription
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView
from stackwright.core.ports import Clock
from support.openstack import MemoryClouds

LATE, SETTLE = 5.0, 8.0  # seconds; after the latter the operator assumes that an absent resource will not appear
# Errors of its failed responses: 401, 403, 404, 409, a quota, 413 or 429, 500, and a timeout.
TROUBLES = [
    TransientCloudError("AuthenticationFailed", "HTTP 401"),
    TerminalCloudError("Forbidden", "HTTP 403"),
    TransientCloudError("NotFound", "HTTP 404"),
    TransientCloudError("Conflict", "HTTP 409"),
    TransientCloudError("QuotaExceeded", "HTTP 403: quota", 30),
    TransientCloudError("RateLimited", "HTTP 429", 10),
    TransientCloudError("ServerError", "HTTP 500"),
    TransientCloudError("Unreachable", "timed out"),
]


class FaultyClouds(MemoryClouds):
    """asked   number of requests
    slow    seconds of each response
    locked  Secrets with unknown credentials
    hidden  types with empty lists, which the real port has not confirmed
    lost    index of the request without a response, 0 none: it takes effect LATE seconds later
    hears   called before each request takes effect
    wordy   whether each rejection has another message
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.asked, self.slow, self.lost, self.wordy = 0, 0.0, 0, False
        self.hears: Callable[[CloudCall], None] = lambda call: None
        self.locked: set[str] = set()
        self.hidden: set[str] = set()
        self._unsure, self._made = 0.0, 0
        self._ids = self._numbers()

    def _numbers(self) -> Generator[str, None, None]:
        while True:
            self._made += 1
            yield f"00000000-0000-4000-9000-{self._made:012d}"

    def become_like(self, other: FaultyClouds) -> None:
        """Copy the resources of another cloud."""
        self.things, self._due, self.calls = dict(other.things), dict(other._due), list(other.calls)
        self._made = other._made

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        await self._answer(cloud)
        await super().subscribe(cloud, subscription)

    def view(self, subscription: Subscription) -> ProjectView:
        self.settled = self._clock.now() >= self._unsure and not self.hidden
        view = super().view(subscription)
        return replace(view, things=tuple(thing for thing in view.things if thing.type not in self.hidden))

    async def find(self, cloud: CloudRef, asked: Query) -> tuple[CloudResource, ...]:
        await self._answer(cloud)
        return await super().find(cloud, asked)

    async def submit(self, call: CloudCall) -> Done | Deferred:
        await self._answer(call.cloud)
        self.hears(call)
        if len(self.calls) + 1 != self.lost:
            return await super().submit(call)
        self.late(call)
        raise TransientCloudError("Unreachable", f"{call}: timed out")

    def late(self, call: CloudCall) -> None:
        """Execute a request LATE seconds later."""
        self.calls.append(call)
        self._unsure = self._clock.now() + SETTLE
        asyncio.get_running_loop().call_later(LATE, self._at_last, call)

    @property
    def made_twice(self) -> list[str]:
        """Resources that were created twice without a deletion in between, such as two bastions of one name.

        Rules are not included: Neutron creates some itself, and stores none twice.
        """
        made: Counter[tuple[str, str, str]] = Counter()
        twice: list[str] = []
        for call in self.calls:
            (what, name), key = call.resource_key, (call.uid, *call.resource_key)
            if call.do == "create":
                made[key] += 1
                twice += [f"{what} {name}"] if made[key] > 1 and what != "security-group-rule" else []
            elif call.do == "delete" and call.why != "duplicate":
                made[key] = 0
        return twice

    async def _answer(self, cloud: CloudRef) -> None:
        self.asked += 1
        if self.slow:
            await asyncio.sleep(self.slow)
        if cloud.secret[1] in self.locked:
            raise TransientCloudError("CredentialsMissing", f"Secret {'/'.join(cloud.secret)} does not exist")

    def edit(self, thing: CloudResource, mark: str | None = None, **facts: Any) -> None:
        """A manual change by another client."""
        now = self.things[thing.type, thing.id]
        name, kept = str(facts.get("name", now.name)), now.mark if mark is None else mark
        self.things[thing.type, thing.id] = replace(now, name=name, mark=kept, facts={**now.facts, **facts})

    def _at_last(self, call: CloudCall) -> None:
        with contextlib.suppress(TransientCloudError, TerminalCloudError):
            self._pass()
            self._do(call)

    def _may(self, name: str) -> None:
        error = self.fail.get(name)
        if self.wordy and isinstance(error, TransientCloudError):
            raise TransientCloudError(error.cause, f"{error} (Request-ID: req-{self.asked})", error.after)
        super()._may(name)
