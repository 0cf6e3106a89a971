"""The connection to one project, and a circuit breaker for each of its services.

All objects with resources in the project use it. After a rate-limit response, no request is sent for the time in that
response. While a service hangs or refuses the credentials, only one caller retries, and all others get its last error
at once. So a hanging cloud does not block the workers of its objects. It does not block other clouds either: the
credentials of each namespace have their own threads, enough for many hanging clouds, and a request that waited for a
thread is not sent to a cloud that hangs by then. All requests of one call share the timeout CALL_SECONDS: a cloud may
respond to each within its timeout, and still list so many resources that they take hours.
"""

from __future__ import annotations

import asyncio
import math
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, TypeVar

from stackwright.adapters.openstack.transport.deadline import in_time
from stackwright.adapters.openstack.transport.failures import Failures
from stackwright.adapters.openstack.transport.login import Count, Login, connection
from stackwright.adapters.openstack.transport.send import in_cloud_thread, is_keystones, problem, state_of
from stackwright.adapters.openstack.transport.shapes import project_of
from stackwright.adapters.threads import LibraryFailed, after, contained, with_deadline
from stackwright.core.openstack.clouds import CALL_SECONDS
from stackwright.core.openstack.errors import ListTooLong, Reason, TerminalCloudError, TransientCloudError

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")
THREADS = 8  # concurrent calls of the operator's workers; lists run in the background and are not counted
SHARED = 16 * THREADS  # threads of all connections of a namespace
SLOW = 10.0  # seconds; a call that fails sooner delays no other caller
PAUSE = 5.0  # seconds before a caller retries
TRY = 60.0  # seconds until the next caller may retry, if the retry has no result
GRACE = 30.0  # seconds for the last request to end, which may have to resolve a name or try many addresses
BEGIN = (
    0.8  # part of CALL_SECONDS; a call that waited longer for a thread is not sent: a response may exceed the time left
)
WAITED = "the request was not sent, because earlier requests to OpenStacks of this namespace took too long"
MOMENT = 0.1  # seconds; a failure within this time before the deadline is attributed to the deadline
SPREAD = (1.0, 1.2)  # random factor, so that callers do not all retry at one moment after a rate limit


def executor() -> Executor:
    """Executor for the connections of one namespace; it starts a thread only when all others are busy."""
    return ThreadPoolExecutor(SHARED, "openstack")


class ProjectConnection:
    def __init__(self, login: Login, count: Count = lambda method, code: None, threads: Executor | None = None) -> None:
        """`threads` are used but not shut down by `close`."""
        self._login, self._count = login, count
        self.place = ""
        """Project and region, as in `ProjectView.place`."""
        self._connection: Connection | None = None
        self._connecting = threading.Lock()
        self._closed = False
        self._files = ExitStack()
        self.threads = threads or executor()
        self._free = asyncio.Semaphore(THREADS)
        self._failures = Failures()
        self._quiet: tuple[float, TransientCloudError] | None = None  # end of the rate limit, and its error
        self._silent: dict[
            str, tuple[float, TransientCloudError]
        ] = {}  # service → time of the next try, and its last error

    def clock(self, service: str) -> float | None:
        """The clock of a service minus our monotonic one; None if it is unknown."""
        return None if self._connection is None else state_of(self._connection).clock(service)

    def check(self, service: str) -> None:
        """Raise the last error while a new request is pointless."""
        now = time.monotonic()
        if self._quiet and now < self._quiet[0]:
            until, error = self._quiet
            raise TransientCloudError(error.cause, str(error), (until - now) * random.uniform(*SPREAD))  # noqa: S311
        silent = self._silent.get(service)  # read once: this is called in threads too
        if silent and now < silent[0]:
            raise TransientCloudError(silent[1].cause, str(silent[1]), sure=self._failures.prove(now))

    async def do(self, service: str, what: Callable[[Connection], T], *, queues: bool = True) -> T:
        """Call `what` in a thread. Raises TransientCloudError or TerminalCloudError for every failure.

        Lists (`queues` false) do not queue behind other calls, because only one per type is in progress and many
        callers need it. They have no deadline, because they may have many pages and no caller waits long for them.
        """
        until = after(CALL_SECONDS) if queues else math.inf
        async with in_time(CALL_SECONDS + GRACE if queues else None), self._free if queues else nullcontext():
            return await self._ask(service, until, lambda: with_deadline(until, lambda: self._guarded(service, what)))

    async def _ask(self, service: str, until: float, what: Callable[[], T]) -> T:
        self.check(service)
        tries = service in self._silent
        if tries:
            self._silent[service] = (time.monotonic() + TRY, self._silent[service][1])

        def ask() -> T:
            """Record a failure of the service before this thread takes the next queued call."""
            if not tries:
                self.check(service)
            if after((1 - BEGIN) * CALL_SECONDS) > until:
                if tries and (silent := self._silent.get(service)):
                    self._silent[service] = time.monotonic(), silent[1]  # the next caller retries
                raise TransientCloudError(Reason.UNREACHABLE, WAITED)
            began = time.monotonic()
            try:
                answer = what()
            except (TransientCloudError, TerminalCloudError) as error:
                self._note(service, began, error, late=after(MOMENT) > until)
                raise
            self._silent.pop(service, None)
            return answer

        return await in_cloud_thread(self.threads, ask)

    def _note(self, service: str, began: float, error: TransientCloudError | TerminalCloudError, *, late: bool) -> None:
        """Record a failure. A `late` one does not count against the service: earlier requests used its time."""
        self._silent.pop(service, None)
        now = time.monotonic()
        if isinstance(error, TerminalCloudError):
            return
        if error.cause is Reason.RATE_LIMITED:
            until = now + (error.after or PAUSE)
            if self._quiet is None or until > self._quiet[0]:
                self._quiet = until, error
        slow = now - began > SLOW and not isinstance(error, ListTooLong)  # it responded all the time
        hung = slow and not late and error.cause in (Reason.UNREACHABLE, Reason.SERVER_ERROR)
        if hung or error.cause in (Reason.AUTHENTICATION_FAILED, Reason.TOKEN_REFUSED):
            self._silent[service] = now + PAUSE, error

    def _guarded(self, service: str, what: Callable[[Connection], T]) -> T:
        from keystoneauth1 import exceptions
        from openstack.exceptions import SDKException, ServiceDisabledException

        try:
            with self._connecting:
                if self._connection is None:
                    self._connection = connection(self._login, self._files, self._count)
            if self._closed:  # while the connection was created
                self._connection.close()
            answer = contained(what, self._connection)
            self._failures.clear()
            if not self.place:
                region = self._login.entry.get("region_name")
                self.place = f"{project_of(self._connection) or None}{f'@{region}' if region else ''}"
            return answer
        except exceptions.Unauthorized as error:
            refused = TransientCloudError(Reason.AUTHENTICATION_FAILED, self._error_text(error, service))
            if is_keystones(error.response):
                self._failures.note(refused, time.monotonic())
            raise refused from None
        except (TransientCloudError, TerminalCloudError) as error:
            self._failures.note(error, time.monotonic())
            raise
        except exceptions.TooManyRequests as error:  # from Keystone; responses of other services do not raise
            raise problem(429, self._error_text(error, service), str(error.retry_after or "")) from None
        except (exceptions.EndpointNotFound, ServiceDisabledException) as error:
            raise TerminalCloudError(Reason.SERVICE_MISSING, self._error_text(error, service)) from None
        except (exceptions.ClientException, SDKException, OSError, LibraryFailed) as error:
            raise TransientCloudError(Reason.UNREACHABLE, self._error_text(error, service)) from None

    def _error_text(self, error: Exception, service: str) -> str:
        """The message with the cloud's URL: objects that share the connection may have other names for the cloud."""
        from stackwright.adapters.openstack.transport.responses import describe_error

        return f"{self._login.entry['auth'].get('auth_url', 'cloud')}: {describe_error(error, service)}"

    def close(self) -> None:
        """Close the connection; threads end with the request in progress."""
        self._closed = True
        if self._connection is not None:
            self._connection.close()
        self._files.close()
