"""The line to one project: a connection, and when it is worth asking again.

All who have something in the project ask through it. When OpenStack wants fewer requests, the whole line is quiet as
long as it says. When a service lets somebody wait and never answers, or does not take the credentials, one at a time
tries it again; to all others its last word is repeated at once. So a cloud that hangs holds up nobody who has to look
at its objects. Nor does it hold up those who ask other clouds: each namespace of credentials has threads of its own,
enough for many clouds that hang, and what waits for one is not asked of a cloud that has hung meanwhile. Whatever
somebody asks, he waits no longer than LONGEST for all the requests that it takes: a cloud may answer each in time, and
name so many things that they take hours.
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

from stackwright.adapters.openstack.transport.deadline import after, in_time, within
from stackwright.adapters.openstack.transport.login import Count, Login, connection
from stackwright.adapters.openstack.transport.send import problem
from stackwright.adapters.openstack.transport.shapes import project_of
from stackwright.adapters.threads import LibraryFailed, contained, in_thread_of
from stackwright.core.openstack.clouds import LONGEST, Denied, Trouble

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")
THREADS = 8  # at once for what the operator's workers ask; lists, which go on by themselves, have others
SHARED = 16 * THREADS  # threads of all lines of a namespace
SLOW = 10.0  # seconds; what fails sooner holds nobody up
PAUSE = 5.0  # seconds before somebody tries again
TRY = 60.0  # seconds that he has for it before the next one does
GRACE = 30.0  # seconds for the last request to end, which may have to look up a name, or try many addresses
BEGIN = 0.8  # of LONGEST; what waited longer for a thread has less time left than an answer may take, and is not sent
WAITED = "other requests to the OpenStacks of this namespace took so long that this one was not sent"
MOMENT = 0.1  # seconds; a request that the deadline ends does so about then
SPREAD = (1.0, 1.2)  # those who were told to be quiet do not all come back in one moment


def executor() -> Executor:
    """For lines of one namespace. It begins a thread only when all that it has are busy."""
    return ThreadPoolExecutor(SHARED, "openstack")


class Line:
    def __init__(self, login: Login, count: Count = lambda method, code: None, threads: Executor | None = None) -> None:
        """`threads` are used and not closed by the line."""
        self._login, self._count = login, count
        self.place = ""
        """As Look has it."""
        self._connection: Connection | None = None
        self._connecting = threading.Lock()
        self._closed = False
        self._files = ExitStack()
        self.threads = threads or executor()
        self._free = asyncio.Semaphore(THREADS)
        self._quiet: tuple[float, Trouble] | None = None  # until when, and what OpenStack said
        self._silent: dict[str, tuple[float, Trouble]] = {}  # the same of a service

    def check(self, service: str) -> None:
        """Raises the Trouble of the last who asked while there is no use in asking again."""
        now = time.monotonic()
        if self._quiet and now < self._quiet[0]:
            until, error = self._quiet
            raise Trouble(error.reason, str(error), (until - now) * random.uniform(*SPREAD))  # noqa: S311
        silent = self._silent.get(service)  # read once: this is called in threads too
        if silent and now < silent[0]:
            raise Trouble(silent[1].reason, str(silent[1]))

    async def do(self, service: str, what: Callable[[Connection], T], *, queues: bool = True) -> T:
        """In a thread. Raises Trouble or Denied for whatever goes wrong.

        Lists, of which there is one of a kind at a time and for which many wait, do not queue behind all the rest. Nor
        do they have a deadline: they may have many pages, and nobody waits for them long.
        """
        until = after(LONGEST) if queues else math.inf
        async with in_time(LONGEST + GRACE if queues else None), self._free if queues else nullcontext():
            return await self._ask(service, until, lambda: within(until, lambda: self._guarded(service, what)))

    async def _ask(self, service: str, until: float, what: Callable[[], T]) -> T:
        self.check(service)
        tries = service in self._silent
        if tries:
            self._silent[service] = (time.monotonic() + TRY, self._silent[service][1])

        def ask() -> T:
            """What it says of the service is noted before the thread takes up what waits for it."""
            if not tries:
                self.check(service)
            if after((1 - BEGIN) * LONGEST) > until:
                if tries and (silent := self._silent.get(service)):
                    self._silent[service] = time.monotonic(), silent[1]  # the next one tries
                raise Trouble("Unreachable", WAITED)
            began = time.monotonic()
            try:
                answer = what()
            except (Trouble, Denied) as error:
                self._note(service, began, error, late=after(MOMENT) > until)
                raise
            self._silent.pop(service, None)
            return answer

        return await in_thread_of(self.threads, ask)

    def _note(self, service: str, began: float, error: Trouble | Denied, *, late: bool) -> None:
        """What comes too `late` had less time than the service may take, for those before it took theirs."""
        self._silent.pop(service, None)
        now = time.monotonic()
        if isinstance(error, Denied):
            return
        if error.reason == "RateLimited":
            until = now + (error.after or PAUSE)
            if self._quiet is None or until > self._quiet[0]:
                self._quiet = until, error
        hung = not late and error.reason in ("Unreachable", "ServerError") and now - began > SLOW
        if hung or error.reason == "AuthenticationFailed":
            self._silent[service] = now + PAUSE, error

    def _guarded(self, service: str, what: Callable[[Connection], T]) -> T:
        from keystoneauth1 import exceptions
        from openstack.exceptions import SDKException, ServiceDisabledException

        try:
            with self._connecting:
                if self._connection is None:
                    self._connection = connection(self._login, self._files, self._count)
            if self._closed:  # while it was made
                self._connection.close()
            answer = contained(what, self._connection)
            if not self.place:
                region = self._login.entry.get("region_name")
                self.place = f"{project_of(self._connection) or None}{f'@{region}' if region else ''}"
            return answer
        except exceptions.Unauthorized as error:
            raise Trouble("AuthenticationFailed", self._told(error, service)) from None
        except exceptions.TooManyRequests as error:  # by Keystone; services answer, and raise nothing
            raise problem(429, self._told(error, service), str(error.retry_after or "")) from None
        except (exceptions.EndpointNotFound, ServiceDisabledException) as error:
            raise Denied("ServiceMissing", self._told(error, service)) from None
        except (exceptions.ClientException, SDKException, OSError, LibraryFailed) as error:
            raise Trouble("Unreachable", self._told(error, service)) from None

    def _told(self, error: Exception, service: str) -> str:
        """By which cloud: those who share a line may know it by names of their own."""
        from stackwright.adapters.openstack.transport.responses import told

        return f"{self._login.entry['auth'].get('auth_url', 'cloud')}: {told(error, service)}"

    def close(self) -> None:
        """Threads end with the request that is on its way."""
        self._closed = True
        if self._connection is not None:
            self._connection.close()
        self._files.close()
