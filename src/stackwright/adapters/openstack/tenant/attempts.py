"""Keeps the responses to an object's queries until one of its looks completes, so that the next look does not repeat
them.

In a slow cloud, the queries of one object may need many looks. If responses expired after the usual minute, the first
ones would expire before the last ones arrive, and no look would complete. For other objects, a response expires after a
minute. A completed look leaves no state here.

Two looks without a usable identity prove that it is lost; two at another project than that of the object's resources
prove that its credentials are lost. A look with any other end is a success.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

from stackwright.adapters.openstack.tenant.limiter import Subscriber
from stackwright.adapters.openstack.tenant.project_session import Attempt, Project
from stackwright.adapters.openstack.transport.deadline import in_time
from stackwright.adapters.openstack.transport.failures import Failures
from stackwright.core.openstack.clouds import CALL_SECONDS
from stackwright.core.openstack.errors import BY_LOOKS, TerminalCloudError, TransientCloudError

_current: ContextVar[Attempt | None] = ContextVar("attempt", default=None)


class Attempts:
    """now  the seconds of a monotonic clock"""

    def __init__(self, now: Callable[[], float] = lambda: time.monotonic()) -> None:
        self._now = now
        self._unended: dict[Subscriber, Attempt] = {}
        # The message, which names the identity or the project, and the failures with it.
        self._unproven: dict[Subscriber, tuple[str, Failures]] = {}

    @asynccontextmanager
    async def look(self, who: Subscriber) -> AsyncIterator[None]:
        """Run one look. Raises TransientCloudError after CALL_SECONDS, as `in_time` does; a look with any
        TransientCloudError is unfinished.
        """
        now = self._now()
        attempt = self._unended.setdefault(who, Attempt(who, now, now))
        attempt.last = now
        token = _current.set(attempt)
        try:
            async with in_time(CALL_SECONDS):
                yield
            self._unended.pop(who, None)
            self._unproven.pop(who, None)
        except (TransientCloudError, TerminalCloudError) as error:
            self._note(who, error, self._now())
            if isinstance(error, TerminalCloudError):
                self._unended.pop(who, None)
            raise
        except Exception:  # of Kubernetes, perhaps after the identity was found
            self._unproven.pop(who, None)
            raise
        finally:
            _current.reset(token)

    def _note(self, who: Subscriber, error: TransientCloudError | TerminalCloudError, now: float) -> None:
        if error.cause not in BY_LOOKS:
            self._unproven.pop(who, None)
            return
        what, failures = self._unproven.get(who) or ("", Failures())
        if what != str(error):
            failures = Failures()
        self._unproven[who] = str(error), failures
        failures.note(error, now)

    def at(self, project: Project) -> Attempt | None:
        """The attempt of the current task, if any; its project is set to this one."""
        if attempt := _current.get():
            attempt.project = project
        return attempt

    def since(self, project: Project) -> float:
        """Time after which responses in this project are valid for an unfinished attempt; infinite without one."""
        return min((each.since for each in self._unended.values() if each.project is project), default=math.inf)

    def forget(self, before: float) -> None:
        self._unended = {who: each for who, each in self._unended.items() if each.last >= before}
        self._unproven = {who: each for who, each in self._unproven.items() if each[1].last >= before}
