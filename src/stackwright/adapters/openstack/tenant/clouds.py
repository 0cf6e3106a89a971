"""core.openstack.clouds.Clouds over any number of real OpenStacks.

All objects with the same credentials share one connection, one snapshot of the project and one request per list. While
an object waits for a change, a watch task refreshes the snapshot about every second and wakes the objects that a change
concerns, so no object polls. An object that has not looked for an hour is forgotten, and so are unused credentials.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from stackwright.adapters.openstack.tenant.attempts import Attempts
from stackwright.adapters.openstack.tenant.confirm import CONFIRM, confirm
from stackwright.adapters.openstack.tenant.limiter import Who
from stackwright.adapters.openstack.tenant.project_session import FORGET, WATCHED, Answer, Asking, Project
from stackwright.adapters.openstack.tenant.references import WHERE, find
from stackwright.adapters.openstack.tenant.requests import run
from stackwright.adapters.openstack.tenant.single_flight import Late, SingleFlight, together
from stackwright.adapters.openstack.tenant.snapshot import (
    AGE,
    LISTS,
    MISSING,
    SETTLE,
    Snapshot,
    fetch,
    peek,
    single,
    stamp,
)
from stackwright.adapters.openstack.transport.connection_pool import Line, executor
from stackwright.adapters.openstack.transport.login import Count, Logins, Secrets, Way, as_written
from stackwright.adapters.openstack.transport.send import PATHS
from stackwright.core.openstack.clouds import (
    ADD_INTERFACE,
    Asker,
    CloudCall,
    CloudRef,
    Denied,
    Look,
    Question,
    Thing,
    Trouble,
)
from stackwright.core.plan import Key
from stackwright.core.ports import NO_TEXT, secret_data

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")
Tell = Callable[[str, Key], None]
WAITS = 60.0  # seconds after its look for which an object counts as waiting
MOMENT = 1.0  # seconds that a caller with a usable list waits for a newer one
SWEEP = 60.0  # seconds between two removals of expired entries


class OpenStackClouds:
    """tell   called with the controller and key of each object that a change concerns
    count  called with method and status of each response
    """

    def __init__(
        self, secrets: Secrets, tell: Tell, count: Count = lambda method, code: None, way: Way = as_written
    ) -> None:
        self._secrets, self._tell, self._count = secrets, tell, count
        self._logins = Logins(secrets, way)
        self._projects: dict[str, Project] = {}
        self._threads: dict[str, Executor] = {}  # by namespace of the Secret
        self._unsure: dict[str, float] = {}  # uid → time until which a request may still take effect
        self._attempts = Attempts()
        self._started = self._swept = time.monotonic()

    def in_time(self, controller: str, key: Key) -> AbstractAsyncContextManager[None]:
        return self._attempts.look((controller, key))

    async def look(self, cloud: CloudRef, asker: Asker) -> Look:
        project = await self._project(cloud)
        asking = project.askers.setdefault(asker.uid, Asking(asker, not asker.begun))
        asking.asker, asking.looked = asker, time.monotonic()
        settled = self._settled(asking)
        for what in asker.kinds:
            if not (asker.waits and project.keeps(what, asker, settled)):
                await self._refresh(cloud, project, what, asker.waits, settled if asker.waits else 0.0)
        asking.waits = time.monotonic() + WAITS if asker.waits else 0.0
        if asker.waits:
            self._begin_watch(cloud, project)
        # A recorded id outweighs the cloud's answer that it lacks this service.
        lacking = project.snapshot.absent.keys() - {what for what, _ in asker.ids}
        listed = frozenset(asker.kinds) - lacking
        unseen = listed - project.snapshot.taken.keys()
        began = min((project.snapshot.fresh.get(what, 0.0) for what in listed - unseen), default=0.0)
        ask = partial(self._single, cloud, project)
        sure = await confirm(project.snapshot, asker, listed - unseen, ask, time.monotonic)
        if listed & project.snapshot.doubts.lists.keys() or not sure:
            self._look_again(asking)
            sure = False
        return Look(project.snapshot.of(asker), sure and began >= settled, unseen, project.line.place)

    async def _single(self, cloud: CloudRef, project: Project, what: str, id_: str) -> Thing | None:
        return await self._do(cloud, project, LISTS[what][0], lambda made: single(made, what, id_))

    def _look_again(self, asking: Asking) -> None:
        """Wake the object when what is missing can be confirmed."""
        if time.monotonic() - asking.doubted >= CONFIRM:
            asking.doubted = time.monotonic()
            asyncio.get_running_loop().call_later(CONFIRM, self._tell, asking.asker.controller, asking.asker.key)

    async def find(self, cloud: CloudRef, asked: Question) -> tuple[Thing, ...]:
        project = await self._project(cloud)
        answer = project.answers.setdefault(asked, Answer())
        attempt = self._attempts.at(project)
        if not answer.holds(attempt.since if attempt else math.inf):
            project.line.check(WHERE[asked.what][0])  # otherwise all callers would wait for the one that tries
            try:
                await answer.flight.join(f"{cloud}: {asked}", partial(self._ask, cloud, project, asked, answer))
            except Late:
                if attempt:
                    answer.told.add(attempt)
                    attempt.awaits.add(asked)
                raise
        return answer.things

    async def find_all(self, cloud: CloudRef, asked: Sequence[Question]) -> Sequence[tuple[Thing, ...]]:
        """If one question fails, the answers to the others are kept for the next look."""
        return await together(self.find(cloud, each) for each in asked)

    async def _ask(self, cloud: CloudRef, project: Project, asked: Question, answer: Answer) -> None:
        try:
            answer.things = await self._do(cloud, project, WHERE[asked.what][0], lambda made: find(made, asked))
            answer.at = time.monotonic()
            self._tell_all(attempt.who for attempt in answer.told if attempt.awaits == {asked})
        finally:  # after an error, the waiting objects retry on their own
            for attempt in answer.told:
                attempt.awaits.discard(asked)
            answer.told.clear()
        answer.weight = Answer.weight + len(ascii(asked)) + sum(thing.weight for thing in answer.things)
        project.trim()

    async def run(self, call: CloudCall) -> str:
        project = await self._project(call.cloud)
        what = "port" if ADD_INTERFACE in call.body else call.slot[0]
        asker, id_ = self._who_looked(project, call), ""
        project.order.lists(project.listing)
        project.order.begin(call, asker, time.monotonic())
        try:
            id_, told = await self._ask_for(call, project)
        finally:
            project.order.lists(project.listing)
            self._tell_all(project.order.end(call, asker, id_, time.monotonic()))
        now = time.monotonic()
        if call.do == "delete":
            project.snapshot.leaving((what, id_), now)
        if call.do == "delete" and what not in ("server", "volume"):  # their deletion takes time
            (project.snapshot.drop if told is None else project.snapshot.deleted)((what, id_), now)
        elif told and what in LISTS:
            project.snapshot.write(LISTS[what][3](told), now)
        elif call.do == "update":
            project.snapshot.changed((what, id_), call.body, now)
        if port := call.body.get("port_id"):
            self._tell_all((each.controller, each.key) for each in project.having(("port", port)))
        return id_

    def _who_looked(self, project: Project, call: CloudCall) -> Asker:
        """The object that makes the call. Raises Trouble if its last look was at another project than the call's."""
        asking = project.askers.get(call.uid)
        others = (each.askers[call.uid] for each in self._projects.values() if call.uid in each.askers)
        if asking is None or any(other.looked > asking.looked for other in others):
            text = f"the credentials of {call.cloud} changed since its resources were listed; they are listed again"
            raise Trouble("CredentialsChanged", text)
        return asking.asker

    async def _ask_for(self, call: CloudCall, project: Project) -> tuple[str, Mapping[str, Any] | None]:
        user_data, service = await self._user_data(call), PATHS[call.slot[0]][0]
        try:
            return await self._do(call.cloud, project, service, lambda made: run(made, call, user_data))
        except (Trouble, Denied) as error:
            if error.reason in ("Unreachable", "ServerError"):
                self._unsure[call.uid] = time.monotonic() + SETTLE
            raise

    async def _user_data(self, call: CloudCall) -> bytes | None:
        if call.user_data is None:
            return None
        key, name = call.user_data
        data = secret_data(await self._secrets(key))
        if name not in data:
            raise Trouble("WaitingForUserData", f"Waiting for Secret {'/'.join(key)} with the key {name}")
        return data[name].encode(errors=NO_TEXT)  # it may be packed

    def _settled(self, asking: Asking) -> float:
        """Time by which earlier requests have taken effect; only lists that begin later prove absence."""
        inherited = 0.0 if asking.known else self._started + SETTLE
        return max(inherited, self._unsure.get(asking.asker.uid, 0.0))

    async def _refresh(self, cloud: CloudRef, project: Project, what: str, waits: bool, settled: float = 0.0) -> None:
        """Refresh a list if it is due. Callers share one request per type, if it began late enough for them.

        A slow cloud need not delay its callers: one that can use the last list continues with it and is woken when a
        change is known. A caller that does not wait for a change can do without a list.
        """
        snapshot = project.snapshot
        flight = project.lists.setdefault(what, SingleFlight())
        while snapshot.due(what, waits, time.monotonic(), settled):
            project.line.check(LISTS[what][0])  # otherwise all callers would wait for the one that tries
            enough = snapshot.does(what, settled)
            try:
                ask = partial(self._update, cloud, project, what, enough)
                told = waits and what not in WATCHED and what not in snapshot.doubts.lists
                moment = 0.0 if told else MOMENT  # a change wakes the caller
                await flight.join(f"{cloud}: list of {what}s", ask, moment if enough else None)
            except Late:
                if enough or not waits:
                    return
                raise
            if snapshot.fresh.get(what, 0.0) >= settled or settled > time.monotonic():
                return

    async def _update(self, cloud: CloudRef, project: Project, what: str, enough: bool) -> None:
        """Fetch a list, or, if the last list is recent `enough`, a peek while lists run in the background.

        This is decided here, once per request, and not by each of the many callers that join it.
        """
        snapshot, began = project.snapshot, time.monotonic()
        if what != "server" or what not in snapshot.taken or snapshot.doubtful(what, began):
            return await self._list(cloud, project, what)
        if snapshot.due_whole(began):
            project.whole.begin(partial(self._list, cloud, project, what))
        part = partial(self._list, cloud, project, what, part=True)
        if not enough or not project.waiting():
            return await part()
        if snapshot.due_part(project.awaited(), began):
            project.part.begin(part)
        since = stamp(time.time() - snapshot.ago(began))
        active = await self._do(cloud, project, LISTS[what][0], lambda made: peek(made, since), queues=False)
        snapshot.took[what] = time.monotonic() - began
        self._tell_of(project, snapshot.peek(active, began))
        return None

    async def _list(self, cloud: CloudRef, project: Project, what: str, *, part: bool = False) -> None:
        """Fetch a list into the snapshot: the whole list, or with `part` the changes."""
        snapshot, began = project.snapshot, time.monotonic()
        since = stamp(time.time() - snapshot.ago(began)) if part else ""
        try:
            found = await self._do(cloud, project, LISTS[what][0], lambda made: fetch(made, what, since), queues=False)
        except (Trouble, Denied) as error:
            if what in MISSING and error.reason in ("NotFound", "BlockedServiceMissing"):
                snapshot.absent[what] = time.monotonic()
                return
            raise
        snapshot.absent.pop(what, None)
        changed = (snapshot.update if part else snapshot.replace)(what, found, began)
        took = time.monotonic() - began
        if part:
            snapshot.took_part = took
        elif what == "server":
            snapshot.took_whole = took
        else:
            snapshot.took[what] = took
        self._tell_of(project, changed)

    def _tell_of(self, project: Project, changed: set[tuple[str, str]]) -> None:
        """Wake the objects that own what changed, and those that get a freed slot."""
        waiting = project.waiting() if changed else ()
        self._tell_all((asker.controller, asker.key) for asker in waiting if not changed.isdisjoint(asker.ids))
        now = project.snapshot.things
        states = {id_: now[what, id_].state if (what, id_) in now else "" for what, id_ in changed if what == "server"}
        built = {id_: state == "ACTIVE" for id_, state in states.items() if state != "BUILD"}
        self._tell_all(project.order.built(built, time.monotonic()))

    def _tell_all(self, whom: Iterable[Who]) -> None:
        for controller, key in whom:
            self._tell(controller, key)

    def _begin_watch(self, cloud: CloudRef, project: Project) -> None:
        if not project.watched:
            project.watch = asyncio.create_task(self._watch(cloud, project))

    async def _watch(self, cloud: CloudRef, project: Project) -> None:
        """Refresh servers and volumes while an object waits. Errors are ignored: the objects' own looks raise them."""
        while waiting := project.waiting():
            theirs = {what for what, _ in project.awaited()}
            theirs |= {"server"} if any("server" in asker.kinds for asker in waiting) else set()
            with contextlib.suppress(Trouble, Denied):
                for what in sorted(theirs & WATCHED):
                    await self._refresh(cloud, project, what, True)
            snapshot = project.snapshot
            left = snapshot.seen("server") + snapshot.age("server", True) - time.monotonic()
            await asyncio.sleep(left if left > 0 else AGE["server"][0])

    async def _project(self, cloud: CloudRef) -> Project:
        now = time.monotonic()
        if now - self._swept >= SWEEP:
            self._sweep(now)
        login = await self._logins.get(cloud)
        if login.digest not in self._projects:
            namespace = cloud.secret[0]
            threads = self._threads[namespace] = self._threads.get(namespace) or executor()
            self._projects[login.digest] = Project(Line(login, self._count, threads), Snapshot(now))
        project = self._projects[login.digest]
        project.used = now
        return project

    def _sweep(self, now: float) -> None:
        self._swept = now
        self._attempts.forget(now - FORGET)
        self._unsure = {uid: until for uid, until in self._unsure.items() if until > now}
        for digest, project in list(self._projects.items()):
            project.forget(now - FORGET, self._attempts.since(project))
            if project.used < now - FORGET:
                self._projects.pop(digest).close()
        used = {project.line.threads for project in self._projects.values()}
        for namespace, threads in list(self._threads.items()):
            if threads not in used:
                self._threads.pop(namespace).shutdown(wait=False)

    async def _do(
        self, cloud: CloudRef, project: Project, service: str, what: Callable[[Connection], T], *, queues: bool = True
    ) -> T:
        try:
            return await project.line.do(service, what, queues=queues)
        except Trouble as error:
            if error.reason == "AuthenticationFailed":
                self._logins.forget(cloud)
            raise

    async def close(self) -> None:
        for project in self._projects.values():
            project.close()
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
