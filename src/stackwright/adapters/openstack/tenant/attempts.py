"""Looks that have not ended: what an object was answered meanwhile counts until one has.

A slow cloud may need many looks for all questions of one object. If an answer held for its minute only, each look would
end with the last questions answered and the first ones due again, and none would ever have them all. For everybody
else an answer holds for its minute. As soon as a look ends, nothing of this is left.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from stackwright.adapters.openstack.tenant.limiter import Who
from stackwright.adapters.openstack.tenant.project_session import Attempt, Project
from stackwright.adapters.openstack.transport.deadline import in_time
from stackwright.core.openstack.clouds import LONGEST, Denied

_current: ContextVar[Attempt | None] = ContextVar("attempt", default=None)


class Attempts:
    def __init__(self) -> None:
        self._unended: dict[Who, Attempt] = {}

    @asynccontextmanager
    async def look(self, who: Who) -> AsyncIterator[None]:
        """Raises Trouble after LONGEST, as `in_time` does. It has not ended if there is any Trouble."""
        now = time.monotonic()
        attempt = self._unended.setdefault(who, Attempt(who, now, now))
        attempt.last = now
        token = _current.set(attempt)
        try:
            async with in_time(LONGEST):
                yield
            self._unended.pop(who, None)
        except Denied:
            self._unended.pop(who, None)
            raise
        finally:
            _current.reset(token)

    def at(self, project: Project) -> Attempt | None:
        """The one that asks now, which asks there."""
        if attempt := _current.get():
            attempt.project = project
        return attempt

    def since(self, project: Project) -> float:
        """Answers there that came later count for somebody."""
        return min((each.since for each in self._unended.values() if each.project is project), default=math.inf)

    def forget(self, before: float) -> None:
        self._unended = {who: each for who, each in self._unended.items() if each.last >= before}
