"""Keeps the snapshot of a project recent: lists, peeks, and a watch task while an object waits for a change."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from stackwright.adapters.openstack.tenant.limiter import Subscriber
from stackwright.adapters.openstack.tenant.project_session import Project
from stackwright.adapters.openstack.tenant.rest.reads import fetch, peek, single
from stackwright.adapters.openstack.tenant.rest.rest_types import REST
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.adapters.openstack.transport.single_flight import together
from stackwright.core.openstack.clouds import Subscription
from stackwright.core.openstack.errors import Late, ListTooLong, Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudRef, CloudResource

AT_ONCE = 8  # concurrent requests of one look
MOMENT = 1.0  # seconds that a caller with a usable list waits for a newer one


class Lists:
    """do    calls a function with the connection of a project, in a thread
    tell  wakes objects
    """

    def __init__(self, do: Callable[..., Awaitable[Any]], tell: Callable[[Iterable[Subscriber]], None]) -> None:
        self._do, self._tell_all = do, tell

    async def refresh(self, cloud: CloudRef, project: Project, what: str, waits: bool, settled: float = 0.0) -> None:
        """Refresh a list if it is due. Callers share one request per type, if it began late enough for them.

        In a slow cloud, a caller that can use the last list continues with it and is woken after a change. A caller
        that does not wait for a change can continue without a list.
        """
        snapshot = project.snapshot
        flight = project.lists[what]
        while snapshot.due(what, waits, time.monotonic(), settled):
            project.connection.check(REST[what].service)  # otherwise all callers would wait for the one that retries
            enough = snapshot.does(what, settled)
            if not enough and _has_changes(project, what):
                await self._join_whole(cloud, project, what, settled)
                settled = 0.0
                continue
            ask = partial(self._update, cloud, project, what)
            try:
                is_woken = waits and not TYPES[what].built and what not in snapshot.evidence.short_lists
                moment = 0.0 if is_woken else MOMENT  # a change wakes the caller
                await flight.join(f"{cloud}: list of {what}s", ask, moment if enough else None)
            except Late:
                if enough or not waits:
                    return
                raise
            if snapshot.does(what, settled) or settled > time.monotonic():
                return

    def prove(self, project: Project, what: str, settled: float) -> float:
        """Plan the list that shows the result of an uncertain request; returns the time of the object's next look.

        If changes are listed, a whole list takes long, so it begins in the background; the look fetches other lists.
        """
        if not _has_changes(project, what):
            return settled
        return project.snapshot.whole[what].need(settled) + project.snapshot.age(what, True)

    async def _join_whole(self, cloud: CloudRef, project: Project, what: str, settled: float) -> None:
        """Wait briefly for the whole list that begins at `settled` or later, if that time has passed."""
        snapshot, flight, now = project.snapshot, project.whole[what], time.monotonic()
        snapshot.whole[what].need(settled)
        with contextlib.suppress(Late):
            while settled <= now and not snapshot.does(what, settled):
                if not flight.flies and not snapshot.due_whole(what, time.monotonic()):
                    return
                await flight.join(f"{cloud}: list of {what}s", partial(self._whole, cloud, project, what))

    async def _whole(self, cloud: CloudRef, project: Project, what: str) -> None:
        """Fetch a whole list, in parallel to lists of changes."""
        whole = project.snapshot.whole[what]
        whole.tried = began = time.monotonic()
        try:
            await self._list(cloud, project, what)
        except (TransientCloudError, TerminalCloudError):
            whole.failed = time.monotonic() - began
            raise

    async def _update(self, cloud: CloudRef, project: Project, what: str) -> None:
        """Fetch a list, or a peek while lists run in the background.

        This is decided here, once per request, and not by each of the many callers that join it.
        """
        snapshot, began = project.snapshot, time.monotonic()
        if not _has_changes(project, what) or snapshot.doubtful(what, began):
            return await self._list(cloud, project, what)
        if snapshot.due_whole(what, began):
            project.whole[what].begin(partial(self._whole, cloud, project, what))
        part = partial(self._list, cloud, project, what, part=True)
        if not project.waiting():
            return await part()
        if snapshot.due_part(what, project.awaited(), began):
            project.part[what].begin(part)
        since = _since(project, what)
        built = await self._do(cloud, project, REST[what].service, lambda made: peek(made, what, since), queues=False)
        snapshot.took[what] = time.monotonic() - began
        self._tell_of(project, snapshot.peek(what, built, began))
        return None

    async def _list(self, cloud: CloudRef, project: Project, what: str, *, part: bool = False) -> None:
        """Fetch a list into the snapshot: the whole list, or with `part` the changes, unless these are too many."""
        snapshot, began = project.snapshot, time.monotonic()
        since = _since(project, what) if part else ""
        try:
            found = await self._do(
                cloud, project, REST[what].service, lambda made: fetch(made, what, since), queues=False
            )
        except ListTooLong:
            if not part:
                raise
            await self._list(cloud, project, what)
            snapshot.took_part[what] = time.monotonic() - began
            return
        except (TransientCloudError, TerminalCloudError) as error:
            if REST[what].optional and error.cause in (Reason.NOT_FOUND, Reason.SERVICE_MISSING):
                snapshot.evidence.list_not_found(what, began, sure=error.cause is Reason.SERVICE_MISSING)
                return
            raise
        snapshot.evidence.list_found(what)
        changed = (snapshot.update if part else snapshot.replace)(what, found, began)
        took = time.monotonic() - began
        if part:
            snapshot.took_part[what] = took
        elif _has_changes(project, what):
            snapshot.whole[what].took, snapshot.whole[what].failed = took, 0.0
        else:
            snapshot.took[what] = took
        self._tell_of(project, changed)

    def _tell_of(self, project: Project, changed: set[tuple[str, str]]) -> None:
        """Wake the objects that own changed resources, and those that get a freed slot."""
        waiting = project.waiting() if changed else ()
        ids_of, now = project.snapshot.ids_of, project.snapshot.things
        self._tell_all(
            (subscription.controller, subscription.key)
            for subscription in waiting
            if not changed.isdisjoint(ids_of(subscription))
        )
        states = {key: now[key].state if key in now else "" for key in changed if REST[key[0]].building}
        built = {key: state == TYPES[key[0]].built for key, state in states.items() if state != REST[key[0]].building}
        self._tell_all(project.order.built(built, time.monotonic()))

    def watch(self, cloud: CloudRef, project: Project) -> None:
        if not project.watched:
            project.watch = asyncio.create_task(self._watch(cloud, project))

    async def _watch(self, cloud: CloudRef, project: Project) -> None:
        """Refresh types with states while an object waits. Errors are ignored: the objects' own looks raise them."""
        while waiting := project.waiting():
            theirs = {what for what, _ in project.awaited()}
            theirs |= {what for subscription in waiting for what in subscription.kinds if REST[what].lists.watched}
            with contextlib.suppress(TransientCloudError, TerminalCloudError):
                for what in sorted(what for what in theirs if TYPES[what].built):
                    await self.refresh(cloud, project, what, True)
            await asyncio.sleep(_until_next(project.snapshot))

    async def confirm(self, cloud: CloudRef, project: Project, subscription: Subscription) -> None:
        """Request each recorded resource of the object that the lists lack, until it is confirmed."""
        snapshot, evidence = project.snapshot, project.snapshot.evidence
        due = evidence.due(project.unconfirmed(subscription), time.monotonic())

        async def weigh(key: tuple[str, str]) -> None:
            began = time.monotonic()
            if (thing := await self.single(cloud, project, *key)) is not None:
                snapshot.restore(thing, began)
            else:
                evidence.not_found(key, began)

        for at in range(0, len(due), AT_ONCE):
            await together(map(weigh, due[at : at + AT_ONCE]))

    async def single(self, cloud: CloudRef, project: Project, what: str, id_: str) -> CloudResource | None:
        """One resource; None if the cloud returns 404."""
        found: CloudResource | None = await self._do(
            cloud, project, REST[what].service, lambda made: single(made, what, id_)
        )
        return found


def _until_next(snapshot: Snapshot) -> float:
    """Seconds until the next list of a watched type."""
    watched = [what for what, rest in REST.items() if rest.lists.watched]
    left = min(snapshot.seen(what) + snapshot.age(what, True) for what in watched) - time.monotonic()
    return left if left > 0 else min(REST[what].lists.waiting for what in watched)


def _has_changes(project: Project, what: str) -> bool:
    """Whether lists of changes keep a list recent, while whole lists run in the background."""
    return REST[what].lists.changes and what in project.snapshot.taken and bool(_since(project, what))


def _since(project: Project, what: str) -> str:
    """Start of the next list of changes by the clock of the service; empty while that is unknown."""
    return project.snapshot.since(what, project.connection.clock(REST[what].service))
