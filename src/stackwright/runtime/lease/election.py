"""Takes, renews and releases the Lease of the operator, by the rules of client-go's leader election.

The holder may write for RENEW seconds after it sent the last successful renewal, and its process ends GRACE later
(`fence.py`). Another process takes the Lease when it has observed no renewal for DURATION. This is longer than RENEW
and GRACE together, and begins later, because a renewal is observed after it was sent. Each write names the version that
it replaces, so only one of several processes succeeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NoReturn

import structlog

from stackwright.api.kinds import LEASE
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.objects import MANAGED
from stackwright.core.plan import Object
from stackwright.core.ports import Clock, Cluster
from stackwright.runtime.lease import record
from stackwright.runtime.lease.fence import LeaseLost, WriteFence, uptime

RENEW = 10.0  # seconds from a renewal in which the holder may write
RETRY = 2.0  # seconds from a renewal to the next one, and between two reads of a process that waits
AGAIN = 0.5  # seconds after a failed renewal or a conflict
ATTEMPT = 2.4  # timeout in seconds of one request; RENEW fits a renewal and the three after another client's change
REFUSED = 15.0  # seconds for which an API server that starts may refuse what it allows later
LAST = 1.0  # seconds that a release needs
MANAGER = "stackwright-operator"
log = structlog.get_logger()


class Election:
    """identity  of this process, or of the pod whose processes share the Lease
    now       seconds of a clock of this machine that cannot be set
    """

    def __init__(
        self, cluster: Cluster, fence: WriteFence, namespace: str, identity: str, clock: Clock,
        now: Callable[[], float] = uptime,
    ) -> None:  # fmt: skip
        self._cluster, self._fence, self._clock, self._now = cluster, fence, clock, now
        self._key, self._me = (namespace, record.NAME), identity
        self._seen = record.Observation()
        self._lease: Object | None = None  # as of the last read or write
        self._kept: Object = {"labels": dict(MANAGED)}  # metadata of the Lease, if it is created again
        self.waits = f"the Lease {'/'.join(self._key)} was not read yet"  # the cause; empty for the holder

    async def acquire(self) -> None:
        """Return when this process holds the Lease. Raises TerminalError if the API refuses that for REFUSED."""
        refused: float | None = None  # since when
        while True:
            try:
                if await self._take():
                    self.waits = ""
                    log.info("this operator holds the Lease", lease="/".join(self._key), identity=self._me)
                    return
                refused = None
            except TerminalError as error:
                refused = self._now() if refused is None else refused
                if self._now() >= refused + REFUSED:
                    raise TerminalError(
                        f"The operator cannot use its Lease {'/'.join(self._key)}: {error}. Without it two operators "
                        f"could write. The chart stackwright gives this right in its namespace (Role "
                        f"stackwright-operator-lease, value rbac.create)"
                    ) from error
                self._wait(f"the Lease {'/'.join(self._key)} is refused: {error}")
            except Conflict:  # another process was faster, perhaps one of this pod, at each of its renewals
                await asyncio.sleep(AGAIN)
                continue
            except (TransientError, TimeoutError) as error:
                refused = None
                cause = str(error) or f"no response within {ATTEMPT:g} s"
                self._wait(f"the Lease {'/'.join(self._key)} cannot be read or written: {cause}")
            await asyncio.sleep(RETRY)

    async def keep(self) -> NoReturn:
        """Renew the Lease until cancelled. Raises LeaseLost as soon as this process may not write any more."""
        while True:
            await asyncio.sleep(self._fence.left() - (RENEW - RETRY))  # RETRY after it was sent
            await self._renew()

    async def end(self, busy: Callable[[], bool], last: Callable[[], bool] = lambda: True) -> None:
        """Stop writing, and release the Lease so that another process takes it at once. All tasks that write have
        ended.

        busy  whether a thread, which cannot be interrupted, may still write
        last  whether no other process may write as the same holder; called after this one stopped writing
        """
        self._fence.close("the operator ends")
        while busy() and self._fence.left() > LAST:
            await asyncio.sleep(0.1)
        if self._fence.left() > 0 and not busy() and last():
            await self._release()

    async def _release(self) -> None:
        try:
            async with asyncio.timeout(min(ATTEMPT, self._fence.left())):
                try:
                    await self._give()
                except Conflict:
                    await self._read()
                    if record.holder_of(self._lease) == self._me:
                        await self._give()
        except (TransientError, TerminalError, Conflict, TimeoutError) as error:
            log.warning("the Lease was not released, so another operator waits for its end", cause=str(error))
        self._fence.ended()

    async def _give(self) -> None:
        if self._lease is None:
            return
        version = {"resourceVersion": self._lease["metadata"]["resourceVersion"]}
        spec = record.released(self._lease, self._wall())
        await self._cluster.patch(LEASE, self._key, {"metadata": version, "spec": spec})
        log.info("the Lease was released", lease="/".join(self._key))

    async def _take(self) -> bool:
        await self._read()
        self._seen.see(self._lease, self._now())
        holder = self._seen.holder
        if holder != self._me and not self._seen.is_free(self._now()):
            self._wait(
                f"{holder} holds the Lease {'/'.join(self._key)}"
                if holder
                else f"the Lease {'/'.join(self._key)} is missing, whose holder may still write"
            )
            return False
        missing = self._lease is None
        try:
            await self._write()
        except BaseException:
            if missing:
                self._seen.forget()
            raise
        return True

    async def _renew(self) -> None:
        cause = told = ""
        while (left := self._fence.left()) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._attempt()
                return
            except (TransientError, TerminalError, Conflict, TimeoutError) as error:
                cause = str(error) or f"no response within {ATTEMPT:g} s"
                if cause != told:
                    log.warning("the Lease was not renewed", cause=cause, again_in=AGAIN)
                told = cause
            await asyncio.sleep(AGAIN)
        self._lose(f"the Lease was not renewed within {RENEW:g} s: {cause}")

    async def _attempt(self) -> None:
        try:
            await self._write()
        except Conflict:  # it was changed, deleted or taken, or a response was lost
            await self._read()
            if (holder := record.holder_of(self._lease)) not in ("", self._me):
                self._lose(f"{holder} has taken the Lease {'/'.join(self._key)}")
            await self._write()

    async def _read(self) -> None:
        async with asyncio.timeout(ATTEMPT):
            self._lease = await self._cluster.get(LEASE, self._key)
        if self._lease is not None:
            meta = self._lease["metadata"]
            self._kept = {name: meta[name] for name in ("labels", "annotations") if meta.get(name)}

    async def _write(self) -> None:
        sent = self._now()
        spec = record.record(self._me, self._lease, self._wall())
        if self._lease is None:
            meta: Object = {"namespace": self._key[0], "name": self._key[1], **self._kept}
            writing = self._cluster.create(LEASE, {"metadata": meta, "spec": spec}, MANAGER)
        else:
            version = {"resourceVersion": self._lease["metadata"]["resourceVersion"]}
            writing = self._cluster.patch(LEASE, self._key, {"metadata": version, "spec": spec})
        async with asyncio.timeout(ATTEMPT):
            self._lease = await writing
        if self._now() >= sent + RENEW:
            raise TimeoutError("the response arrived too late")
        self._fence.extend(sent + RENEW)

    def _lose(self, why: str) -> NoReturn:
        self._fence.lost(why)
        raise LeaseLost(why)

    def _wait(self, why: str) -> None:
        if why != self.waits:
            log.info("this operator waits", cause=why)
        self.waits = why

    def _wall(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
