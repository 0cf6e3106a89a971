"""Simulated operator processes that use one Lease, for tests in simulated time."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from stackwright.api.kinds import LEASE
from stackwright.core.errors import Unreachable
from stackwright.runtime.lease.election import Election
from stackwright.runtime.lease.fence import LeaseLost, WriteFence
from stackwright.runtime.lease.record import NAME
from stackwright.runtime.lease.siblings import Siblings
from stackwright.runtime.memory import FrozenClock, MemoryCluster

SPACE = "stackwright"
KEY = (SPACE, NAME)


class Gone(Exception):
    """The guard ended the simulated process."""


def installed():
    """A cluster with the Lease as the chart installs it."""
    made = MemoryCluster(clock=FrozenClock())
    made.put(LEASE, {"metadata": {"namespace": SPACE, "name": NAME}})
    return made


def record(cluster):
    return cluster.peek(LEASE, KEY)["spec"]


class Operator:
    """A process: its election, its guard, and a task that writes whenever the fence permits.

    offset   of the clock that it measures with
    wall     of the clock that it shows to readers: seconds since the epoch
    failure  error of each call of the API;  lost  calls take effect, but their answers do not arrive
    delay    seconds until a response arrives
    stopped  time until which it executes nothing (SIGSTOP), while clocks go on
    threads  whether a thread of it still writes
    siblings  the other processes of its pod; none unless they are given
    """

    def __init__(self, cluster, name, offset=0.0, wall=1_750_000_000.0, siblings=None):
        self.siblings = siblings or Siblings(None, alone=True)
        self.name, self.cluster, self.offset, self.wall = name, cluster, offset, wall
        self.failure, self.lost, self.delay, self.stopped, self.threads = None, False, 0.0, 0.0, False
        self.writes, self.ended, self.killed = [], None, False
        self.fence = WriteFence(lambda: _time() + self.offset)
        self.election = Election(self, self.fence, SPACE, name, self, lambda: _time() + self.offset)

    def now(self):
        return self.wall + _time()

    async def get(self, kind, key):
        return await self._call(self.cluster.get, kind, key)

    async def create(self, kind, obj, manager):
        return await self._call(self.cluster.create, kind, obj, manager)

    async def patch(self, kind, key, patch):
        return await self._call(self.cluster.patch, kind, key, patch)

    async def _call(self, what, *args):
        await self._awake()
        if self.failure:
            raise self.failure
        try:
            answer = await what(*args)
        finally:  # a refusal, such as a conflict, takes as long
            await asyncio.sleep(self.delay)
        await self._awake()
        if self.lost:
            raise Unreachable("connection reset")
        return answer

    async def _awake(self):
        while (left := self.stopped - _time()) > 0:
            await asyncio.sleep(max(left, 0.001))  # the loop rounds times

    async def run(self):
        """Ends as the process does; `ended` is then the cause, or "stopped" if it was asked to end."""
        parts = [asyncio.create_task(each) for each in (self._lead(), self._guard())]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            self.ended = next(each.exception() for each in parts if each.done())
        except asyncio.CancelledError:
            self.ended = "stopped"
        for each in parts:
            each.cancel()
        await asyncio.gather(*parts, return_exceptions=True)
        if self.ended == "stopped" and not self.killed:
            await self.election.end(lambda: self.threads, self.siblings.last)
        self.siblings.close()

    async def _lead(self):
        await self.siblings.join()
        await self.election.acquire()
        writer = asyncio.create_task(self._write())
        try:
            await self.election.keep()
        finally:
            writer.cancel()
            with suppress(asyncio.CancelledError, LeaseLost):
                await writer

    async def _write(self):
        while True:
            await self._awake()
            self.fence.check()
            self.writes.append(_time())
            await asyncio.sleep(0.5)

    async def _guard(self):
        while not self.fence.overdue():
            await asyncio.sleep(0.25)
            await self._awake()
        raise Gone


def _time():
    return asyncio.get_running_loop().time()


async def start(*operators, seconds=1.0):
    tasks = [asyncio.create_task(each.run()) for each in operators]
    await asyncio.sleep(seconds)
    return tasks


async def kill(*tasks, operators=()):
    """As SIGKILL: nothing is released."""
    for each in operators:
        each.killed = True
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
