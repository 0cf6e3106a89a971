"""core.openstack.clouds.Clouds over any number of real OpenStacks.

All objects with the same credentials share one connection, one snapshot of the project and one request per list. While
an object waits for a change, a watch task refreshes the snapshot about every second and wakes the objects that a change
concerns, so no object polls. Objects without a look for an hour are dropped, as are unused credentials.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from stackwright.adapters.openstack.tenant.absence import CONFIRM
from stackwright.adapters.openstack.tenant.attempts import Attempts
from stackwright.adapters.openstack.tenant.changes import Changes
from stackwright.adapters.openstack.tenant.limiter import Subscriber
from stackwright.adapters.openstack.tenant.lists import Lists
from stackwright.adapters.openstack.tenant.project_session import FORGET, Answer, Project, SubscriptionState
from stackwright.adapters.openstack.tenant.rest.references import find
from stackwright.adapters.openstack.tenant.rest.rest_types import REST
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.adapters.openstack.transport.login import Count, Logins, Secrets, Way, as_written
from stackwright.adapters.openstack.transport.project_connection import ProjectConnection, executor
from stackwright.adapters.openstack.transport.single_flight import together
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Deferred, Done, Query, Subscription
from stackwright.core.openstack.errors import Late, Reason, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView
from stackwright.core.plan import Key

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")
Tell = Callable[[str, Key], None]
WAITS = 60.0  # seconds after its look for which an object is treated as waiting
SWEEP = 60.0  # seconds between two removals of expired entries


class OpenStackClouds:
    """tell   called with the controller and key of each object that a change concerns
    count  called with method and status of each response
    """

    def __init__(
        self, secrets: Secrets, tell: Tell, count: Count = lambda method, code: None, way: Way = as_written
    ) -> None:
        self._tell, self._count = tell, count
        self._logins = Logins(secrets, way)
        self._projects: dict[str, Project] = {}
        self._threads: dict[str, Executor] = {}  # by namespace of the Secret
        self._of: dict[str, Project] = {}  # uid → project of its last subscription
        self._attempts = Attempts()
        self._lists = Lists(self._do, self._tell_all)
        self._changes = Changes(self._do, self._tell_all, self._lists, secrets)
        self._started = self._swept = time.monotonic()

    def in_time(self, controller: str, key: Key) -> AbstractAsyncContextManager[None]:
        return self._attempts.look((controller, key))

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        project = self._of[subscription.uid] = await self._project(cloud)
        state = project.state_of(subscription)
        if not subscription.serves <= state.subscription.serves:
            state.required.served_since = time.monotonic()
        state.subscription, state.looked = subscription, time.monotonic()
        for what in subscription.kinds:
            settled = self._settled_at(project, state, what) if subscription.waits else 0.0
            if not (subscription.waits and project.keeps(what, subscription, settled)):
                await self._lists.refresh(cloud, project, what, subscription.waits, settled)
        state.waits = time.monotonic() + WAITS if subscription.waits else 0.0
        if subscription.waits:
            self._lists.watch(cloud, project)
        await self._lists.confirm(cloud, project, subscription)
        if not project.is_sure(subscription):
            self._look_again(state)

    def view(self, subscription: Subscription) -> ProjectView:
        project = self._of[subscription.uid]
        snapshot, listed = project.snapshot, project.listed(subscription)
        state, unlisted_types = project.subscriptions[subscription.uid], project.kinds(subscription) - listed
        settled = project.is_sure(subscription) and all(
            snapshot.taken.get(what, 0.0) >= self._settled_at(project, state, what)
            for what in listed or subscription.kinds
        )
        lacking = project.lacking(subscription)
        things = tuple(thing for thing in snapshot.of(subscription) if thing.type not in lacking)
        return ProjectView(things, settled, unlisted_types, project.connection.place, lacking)

    def _look_again(self, state: SubscriptionState) -> None:
        """Wake the object when the absence of its missing resources can be confirmed."""
        if time.monotonic() - state.woken >= CONFIRM:
            state.woken = time.monotonic()
            asyncio.get_running_loop().call_later(
                CONFIRM, self._tell, state.subscription.controller, state.subscription.key
            )

    async def find(self, cloud: CloudRef, asked: Query) -> tuple[CloudResource, ...]:
        project = await self._project(cloud)
        answer = project.answers.setdefault(asked, Answer())
        attempt = self._attempts.at(project)
        if not answer.holds(attempt.since if attempt else math.inf):
            service = REST[asked.type].service
            project.connection.check(service)  # otherwise all callers would wait for the one that retries
            try:
                await answer.flight.join(f"{cloud}: {asked}", partial(self._ask, cloud, project, asked, answer))
            except Late:
                if attempt:
                    answer.waiting.add(attempt)
                    attempt.awaits.add(asked)
                raise
        return answer.things

    async def find_all(self, cloud: CloudRef, asked: Sequence[Query]) -> Sequence[tuple[CloudResource, ...]]:
        """If one query fails, the responses to the others are kept for the next look."""
        return await together(self.find(cloud, each) for each in asked)

    async def _ask(self, cloud: CloudRef, project: Project, asked: Query, answer: Answer) -> None:
        try:
            answer.things = await self._do(cloud, project, REST[asked.type].service, lambda made: find(made, asked))
            answer.at = time.monotonic()
            self._tell_all(attempt.who for attempt in answer.waiting if attempt.awaits == {asked})
        finally:  # after an error, the waiting objects retry on their own
            for attempt in answer.waiting:
                attempt.awaits.discard(asked)
            answer.waiting.clear()
        answer.weight = Answer.weight + len(ascii(asked)) + sum(thing.weight for thing in answer.things)
        project.trim()

    async def submit(self, call: CloudCall) -> Done | Deferred:
        project = await self._project(call.cloud)
        if self._of.get(call.uid) is not project:
            text = f"the credentials of {call.cloud} changed since its resources were listed; they are listed again"
            return Deferred(Reason.CREDENTIALS_CHANGED, text)
        return await self._changes.submit(call, project)

    def _settled_at(self, project: Project, state: SubscriptionState, what: str) -> float:
        """Time by which earlier requests have taken effect on a type; only whole lists that begin later prove
        absence.
        """
        snapshot, subscription = project.snapshot, state.subscription
        return state.required.settled_at(
            what,
            snapshot.taken.get(what, 0.0),
            snapshot.evidence,
            moved=bool(subscription.moved),
            started=self._started,
            uncertain=self._changes.uncertain_until(subscription.uid, what),
        )

    def _tell_all(self, whom: Iterable[Subscriber]) -> None:
        for controller, key in whom:
            self._tell(controller, key)

    async def _project(self, cloud: CloudRef) -> Project:
        now = time.monotonic()
        if now - self._swept >= SWEEP:
            self._sweep(now)
        login = await self._logins.get(cloud)
        if login.digest not in self._projects:
            namespace = cloud.secret[0]
            threads = self._threads[namespace] = self._threads.get(namespace) or executor()
            self._projects[login.digest] = Project(ProjectConnection(login, self._count, threads), Snapshot(now))
        project = self._projects[login.digest]
        project.used = now
        return project

    def _sweep(self, now: float) -> None:
        self._swept = now
        self._attempts.forget(now - FORGET)
        for digest, project in list(self._projects.items()):
            project.forget(now - FORGET, self._attempts.since(project))
            if project.used < now - FORGET:
                self._projects.pop(digest).close()
        self._of = {uid: project for uid, project in self._of.items() if uid in project.subscriptions}
        self._changes.forget(self._of)
        used = {project.connection.threads for project in self._projects.values()}
        for namespace, threads in list(self._threads.items()):
            if threads not in used:
                self._threads.pop(namespace).shutdown(wait=False)

    async def _do(
        self, cloud: CloudRef, project: Project, service: str, what: Callable[[Connection], T], *, queues: bool = True
    ) -> T:
        try:
            return await project.connection.do(service, what, queues=queues)
        except TransientCloudError as error:
            if error.cause in (Reason.AUTHENTICATION_FAILED, Reason.TOKEN_REFUSED):
                self._logins.forget(cloud)
            raise

    async def close(self) -> None:
        for project in self._projects.values():
            project.close()
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
