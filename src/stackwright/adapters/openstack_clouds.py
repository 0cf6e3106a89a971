"""core.clouds.Clouds over real OpenStacks, any number of them.

All who use the same credentials share one connection, one picture of the project, and one look at a time. As long as
somebody waits for something, the picture is brought up to date every second by what changed, and whoever it concerns
is told; nobody polls by itself. Requests run in a bounded number of threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from stackwright.adapters.openstack_find import find
from stackwright.adapters.openstack_login import Login, Logins, Secrets, connection
from stackwright.adapters.openstack_project import AGE, LISTS, MISSING, OVERLAP, SETTLE, Snapshot, fetch, stamp
from stackwright.adapters.openstack_requests import ADD_INTERFACE, run
from stackwright.core.clouds import Asker, CloudCall, CloudRef, Denied, Look, Question, Thing, Trouble
from stackwright.core.plan import Key
from stackwright.core.ports import secret_data

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")
Tell = Callable[[str, Key], None]
THREADS = 8
ANSWER = 60.0  # seconds that an answer to a question holds
WAITS = 60.0  # seconds that who waits is taken to wait, unless it says so again


@dataclass
class Project:
    """connection  None until it is needed
    askers      uid → who is told of changes; waiting  uid → until when it is taken to wait
    inherited   uids of what was begun before this process; unsure  uid → until when a request may still be on its way
    """

    login: Login
    connection: Connection | None = None
    snapshot: Snapshot = field(default_factory=Snapshot)
    answers: dict[Question, tuple[float, tuple[Thing, ...]]] = field(default_factory=dict)
    askers: dict[str, Asker] = field(default_factory=dict)
    waiting: dict[str, float] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    unsure: dict[str, float] = field(default_factory=dict)
    locks: dict[str, asyncio.Lock] = field(default_factory=dict)
    watch: asyncio.Task[None] | None = None


class OpenStackClouds:
    """tell  is called with the controller and key of whoever a change concerns"""

    def __init__(self, secrets: Secrets, tell: Tell) -> None:
        self._secrets, self._tell = secrets, tell
        self._logins = Logins(secrets)
        self._projects: dict[str, Project] = {}
        self._threads = ThreadPoolExecutor(THREADS, "openstack")
        self._files = contextlib.ExitStack()
        self._started = time.monotonic()

    async def look(self, cloud: CloudRef, asker: Asker) -> Look:
        project = await self._project(cloud)
        if asker.uid not in project.askers and not asker.begun:
            project.known.add(asker.uid)
        project.askers[asker.uid] = asker
        settled = self._settled(project, asker)
        for what in asker.kinds:
            await self._refresh(cloud, project, what, asker.waits, settled if asker.waits else 0.0)
        if asker.waits:
            project.waiting[asker.uid] = time.monotonic() + WAITS
            self._begin_watch(cloud, project)
        else:
            project.waiting.pop(asker.uid, None)
        unseen = frozenset(asker.kinds) - project.snapshot.taken.keys() - project.snapshot.absent
        began = min((project.snapshot.fresh.get(what, 0.0) for what in asker.kinds if what not in unseen), default=0.0)
        return Look(project.snapshot.of(asker), began >= settled, unseen)

    async def find(self, cloud: CloudRef, asked: Question) -> tuple[Thing, ...]:
        project = await self._project(cloud)
        async with project.locks.setdefault(str(asked), asyncio.Lock()):
            at, answer = project.answers.get(asked, (-ANSWER, ()))
            # That there is none is asked again at once: somebody may be about to make it.
            if time.monotonic() - at < (ANSWER if answer else 2.0):
                return answer
            answer = await self._do(cloud, project, lambda made: find(made, asked))
            project.answers[asked] = (time.monotonic(), answer)
            return answer

    async def run(self, call: CloudCall) -> str:
        project = await self._project(call.cloud)
        user_data = await self._user_data(call)
        what = "port" if ADD_INTERFACE in call.body else call.slot[0]
        try:
            id_, told = await self._do(call.cloud, project, lambda made: run(made, call, user_data))
        except Trouble as error:
            if error.reason in ("Unreachable", "ServerError"):
                project.unsure[call.uid] = time.monotonic() + SETTLE
            raise
        now = time.monotonic()
        if call.do == "delete":
            project.snapshot.leaving((what, id_), now)
        if call.do == "delete" and what not in ("server", "volume"):  # those take their time to go
            project.snapshot.drop((what, id_), now)
        elif told and what in LISTS:
            project.snapshot.write(LISTS[what][3](told), now)
        return id_

    async def _user_data(self, call: CloudCall) -> bytes | None:
        if call.user_data is None:
            return None
        key, name = call.user_data
        data = secret_data(await self._secrets(key))
        if name not in data:
            raise Trouble("WaitingForUserData", f"Waiting for Secret {'/'.join(key)} with the key {name}")
        return data[name].encode()

    def _settled(self, project: Project, asker: Asker) -> float:
        """When what was asked for earlier has happened: lists that begin then tell what is not there."""
        inherited = self._started + SETTLE if asker.uid not in project.known else 0.0
        return max(inherited, project.unsure.get(asker.uid, 0.0))

    async def _refresh(self, cloud: CloudRef, project: Project, what: str, waits: bool, settled: float = 0.0) -> None:
        """One list at a time of each kind; whoever comes meanwhile takes what it brings."""
        snapshot = project.snapshot
        if not snapshot.due(what, waits, time.monotonic(), settled):
            return
        async with project.locks.setdefault(what, asyncio.Lock()):
            began = time.monotonic()
            if not snapshot.due(what, waits, began, settled):
                return
            taken = snapshot.taken.get(what)
            partly = what == "server" and taken is not None and began - taken < AGE[what][1]
            since = stamp(time.time() - (began - snapshot.fresh[what]) - OVERLAP) if partly else ""
            try:
                found = await self._do(cloud, project, lambda made: fetch(made, what, since))
            except (Trouble, Denied) as error:
                if what in MISSING and error.reason in ("NotFound", "BlockedServiceMissing"):
                    snapshot.absent.add(what)
                    return
                raise
            if partly:
                changed = snapshot.merge(found, began)
                snapshot.fresh[what] = began
            else:
                changed = snapshot.replace(what, found, began)
        self._tell_of(project, changed)

    def _tell_of(self, project: Project, changed: set[tuple[str, str]]) -> None:
        for asker in list(project.askers.values()) if changed else ():
            if asker.uid in project.waiting and not changed.isdisjoint(asker.ids):
                self._tell(asker.controller, asker.key)

    def _begin_watch(self, cloud: CloudRef, project: Project) -> None:
        if project.watch is None or project.watch.done():
            project.watch = asyncio.create_task(self._watch(cloud, project))

    async def _watch(self, cloud: CloudRef, project: Project) -> None:
        """As long as somebody waits. What goes wrong here is told to those who look."""
        while project.waiting:
            await asyncio.sleep(AGE["server"][0])
            now = time.monotonic()
            project.waiting = {uid: until for uid, until in project.waiting.items() if until > now}
            with contextlib.suppress(Trouble, Denied):
                waiting = [project.askers[uid] for uid in project.waiting]
                theirs = {what for asker in waiting for what, _ in asker.ids}
                theirs |= {"server"} if any("server" in asker.kinds for asker in waiting) else set()
                for what in sorted(theirs & {"server", "volume"}):
                    await self._refresh(cloud, project, what, True)

    async def _project(self, cloud: CloudRef) -> Project:
        login = await self._logins.get(cloud)
        if login.digest not in self._projects:
            self._projects[login.digest] = Project(login, snapshot=Snapshot(time.monotonic()))
        return self._projects[login.digest]

    async def _do(self, cloud: CloudRef, project: Project, what: Callable[[Connection], T]) -> T:
        """In a thread. Raises Trouble or Denied for whatever goes wrong."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, self._guarded, cloud, project, what)
        except Trouble as error:
            if error.reason == "AuthenticationFailed":
                self._logins.forget(cloud)
                project.connection = None
            raise

    def _guarded(self, cloud: CloudRef, project: Project, what: Callable[[Connection], T]) -> T:
        from keystoneauth1 import exceptions
        from openstack.exceptions import SDKException, ServiceDisabledException

        try:
            if project.connection is None:
                project.connection = connection(project.login, self._files)
            return what(project.connection)
        except exceptions.Unauthorized as error:
            raise Trouble("AuthenticationFailed", f"{cloud}: {error}") from None
        except (exceptions.EndpointNotFound, ServiceDisabledException) as error:
            raise Denied("ServiceMissing", f"{cloud}: {error}") from None
        except (exceptions.ClientException, SDKException, OSError) as error:
            raise Trouble("Unreachable", f"{cloud}: {' '.join(str(error).split())[:300]}") from None

    async def close(self) -> None:
        for project in self._projects.values():
            if project.watch:
                project.watch.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._files.close()
