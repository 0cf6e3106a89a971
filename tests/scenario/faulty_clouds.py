"""An OpenStack in memory that is worse than most: slow, late, and with other words for each refusal."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

from stackwright.core.clouds import Asker, CloudCall, CloudRef, Denied, Look, Question, Thing, Trouble
from stackwright.core.ports import Clock
from stackwright.runtime.memory import Crash, MemoryClouds

LATE, SETTLE = 5.0, 8.0  # seconds; after the latter the operator believes that what is not there does not come
# What its answers mean that are no success: 401, 403, 404, 409, a quota, 413 or 429, 500, and none in time.
TROUBLES = [
    Trouble("AuthenticationFailed", "HTTP 401"),
    Denied("Forbidden", "HTTP 403"),
    Trouble("NotFound", "HTTP 404"),
    Trouble("Conflict", "HTTP 409"),
    Trouble("QuotaExceeded", "HTTP 403: quota", 30),
    Trouble("RateLimited", "HTTP 429", 10),
    Trouble("ServerError", "HTTP 500"),
    Trouble("Unreachable", "timed out"),
]


class FaultyClouds(MemoryClouds):
    """asked   how often anything was asked of it
    slow    seconds that each answer takes
    locked  Secrets whose credentials it does not know
    deaf    which request nobody hears the answer of, 0 none: it is done LATE seconds later
    kills   whether the operator dies of that, or gives up waiting
    wordy   whether each refusal has other words than the one before
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.asked, self.slow, self.deaf, self.kills, self.wordy = 0, 0.0, 0, True, False
        self.locked: set[str] = set()
        self._unsure = 0.0

    async def look(self, cloud: CloudRef, asker: Asker) -> Look:
        await self._answer(cloud)
        self.settled = self._clock.now() >= self._unsure
        return await super().look(cloud, asker)

    async def find(self, cloud: CloudRef, asked: Question) -> tuple[Thing, ...]:
        await self._answer(cloud)
        return await super().find(cloud, asked)

    async def run(self, call: CloudCall) -> str:
        await self._answer(call.cloud)
        if len(self.calls) + 1 != self.deaf:
            return await super().run(call)
        self.calls.append(call)
        self._unsure = self._clock.now() + SETTLE
        asyncio.get_running_loop().call_later(LATE, self._at_last, call)
        if self.kills:
            raise Crash(str(call))
        raise Trouble("Unreachable", f"{call}: timed out")

    async def _answer(self, cloud: CloudRef) -> None:
        self.asked += 1
        if self.slow:
            await asyncio.sleep(self.slow)
        if cloud.secret[1] in self.locked:
            raise Trouble("CredentialsMissing", f"Secret {'/'.join(cloud.secret)} does not exist")

    def edit(self, thing: Thing, mark: str | None = None, **facts: Any) -> None:
        """By hand, of somebody else."""
        now = self.things[thing.what, thing.id]
        name, kept = str(facts.get("name", now.name)), now.mark if mark is None else mark
        self.things[thing.what, thing.id] = replace(now, name=name, mark=kept, facts={**now.facts, **facts})

    def _at_last(self, call: CloudCall) -> None:
        with contextlib.suppress(Trouble, Denied):
            self._pass()
            self._do(call)

    def _may(self, name: str) -> None:
        error = self.fail.get(name)
        if self.wordy and isinstance(error, Trouble):
            raise Trouble(error.reason, f"{error} (Request-ID: req-{self.asked})", error.after)
        super()._may(name)
