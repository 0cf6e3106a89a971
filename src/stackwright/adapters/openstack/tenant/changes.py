"""Changes of resources in a project: one request each, whose result is in the snapshot at once.

After an error, a request may still take effect: its type is uncertain until a later list shows the effect.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from stackwright.adapters.openstack.tenant.absence import SETTLE
from stackwright.adapters.openstack.tenant.limiter import Subscriber
from stackwright.adapters.openstack.tenant.lists import Lists
from stackwright.adapters.openstack.tenant.project_session import Project
from stackwright.adapters.openstack.tenant.rest.requests import run
from stackwright.adapters.openstack.tenant.rest.rest_types import REST, resource_of
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.adapters.openstack.transport.login import Secrets
from stackwright.core.objects import NO_TEXT, secret_data
from stackwright.core.openstack.calls import ADD_INTERFACE, DUPLICATE, CloudCall
from stackwright.core.openstack.clouds import Deferred, Done
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.tenant_secrets import refusal


class Changes:
    """do       calls a function with the connection of a project, in a thread
    tell     wakes objects
    lists    keeps the snapshots recent
    secrets  reads the Secrets with user data
    """

    def __init__(
        self,
        do: Callable[..., Awaitable[Any]],
        tell: Callable[[Iterable[Subscriber]], None],
        lists: Lists,
        secrets: Secrets,
    ) -> None:
        self._do, self._tell_all, self._lists, self._secrets = do, tell, lists, secrets
        # uid and type → time until which a request may still take effect; kept until a later list shows the effect
        self._uncertain: dict[tuple[str, str], float] = {}

    def uncertain_until(self, uid: str, what: str) -> float:
        """Time until which a request of an object for a type may still take effect; 0 without such a request."""
        return self._uncertain.get((uid, what), 0.0)

    def forget(self, projects: Mapping[str, Project]) -> None:
        """Drop requests whose effect a list shows, and those of objects without a project; `projects` are by uid."""
        self._uncertain = {
            (uid, what): until
            for (uid, what), until in self._uncertain.items()
            if uid in projects and not projects[uid].snapshot.does(what, until)
        }

    async def submit(self, call: CloudCall, project: Project) -> Done | Deferred:
        """Execute a call for an object that is subscribed in this project."""
        subscription, id_ = project.subscriptions[call.uid].subscription, ""
        project.order.lists(project.listing)
        if deferred := project.order.begin(call, subscription, time.monotonic()):
            return deferred
        try:
            user_data = await self._user_data(call)
            if isinstance(user_data, Deferred):
                return user_data
            if await self._is_elsewhere(call, project):
                text = f"Another client attached or detached {call.resource_key[0]} {call.id}; its state is read again"
                return Deferred(Reason.CONFLICT, text)
            id_, response = await self._ask_for(call, project, user_data)
        finally:
            project.order.lists(project.listing)
            self._tell_all(project.order.end(call, subscription, id_, time.monotonic()))
        self._store(call, project.snapshot, id_, response)
        host, field = TYPES[call.resource_key[0]].attached or ("", "")
        if id_of_host := call.body.get(field):
            self._tell_all((each.controller, each.key) for each in project.having((host, id_of_host)))
        return Done(id_)

    @staticmethod
    def _store(call: CloudCall, snapshot: Snapshot, id_: str, response: Mapping[str, Any] | None) -> None:
        """Store the result of a call; `response` is the resource as the API returned it, None after a 404."""
        what, now = _changed(call), time.monotonic()
        if call.do == "delete":
            snapshot.leaving((what, id_), now)
        if call.do == "delete" and not TYPES[what].built:  # resources with a state take time to be deleted
            (snapshot.drop if response is None else snapshot.deleted)((what, id_), now)
        elif response:
            snapshot.write(resource_of(what, response), now)
        elif call.do == "update":
            snapshot.changed((what, id_), call.body, now)

    async def _ask_for(
        self, call: CloudCall, project: Project, user_data: bytes | None
    ) -> tuple[str, Mapping[str, Any] | None]:
        service, state = REST[call.resource_key[0]].service, project.subscriptions[call.uid]
        answer: tuple[str, Mapping[str, Any] | None]
        try:
            answer = await self._do(call.cloud, project, service, lambda made: run(made, call, user_data))
        except TransientCloudError as error:
            if error.cause in (Reason.UNREACHABLE, Reason.SERVER_ERROR):
                now, what = time.monotonic(), _changed(call)
                self._uncertain[call.uid, what] = now + SETTLE
                # An earlier look would succeed, although it would only show an unsettled state. That would hide this
                # error and reset the backoff.
                shown = self._lists.prove(project, what, now + SETTLE)
                error.after = max(error.after or 0.0, shown - now)
                state.waits = state.waits and max(state.waits, shown)  # until then the watch runs
            raise
        return answer

    async def _is_elsewhere(self, call: CloudCall, project: Project) -> bool:
        """Whether the attachment or use of a resource differs from the snapshot on which the call is based. If so, the
        snapshot is corrected.

        The snapshot may be minutes old: a deletion would remove a floating IP address from its current port, or a port
        from a server.
        """
        (what, _), snapshot = call.resource_key, project.snapshot
        fields, known = _decisive(call), snapshot.things.get((what, call.id))
        if not fields or known is None:
            return False
        now = await self._lists.single(call.cloud, project, what, call.id)
        if now is None or all((now.facts.get(each) or "") == (known.facts.get(each) or "") for each in fields):
            return False
        snapshot.write(now, time.monotonic())
        return True

    async def _user_data(self, call: CloudCall) -> bytes | Deferred | None:
        if call.user_data is None:
            return None
        key, name = call.user_data
        secret = await self._secrets(key)
        if refused := refusal(secret, key):
            return Deferred(Reason.WAITING_FOR_USER_DATA, refused)
        data = secret_data(secret)
        if name not in data:
            return Deferred(Reason.WAITING_FOR_USER_DATA, f"Waiting for Secret {'/'.join(key)} with the key {name}")
        return data[name].encode(errors=NO_TEXT)  # it may be compressed


def _changed(call: CloudCall) -> str:
    """The type of the resource that a call changes: the port if a router gets an interface."""
    return "port" if ADD_INTERFACE in call.body else call.resource_key[0]


def _decisive(call: CloudCall) -> tuple[str, ...]:
    """Fields of a resource that tell whether the call is still right."""
    _, field = TYPES[call.resource_key[0]].attached or ("", "")
    if call.do == "delete" and call.why == DUPLICATE:
        return TYPES[call.resource_key[0]].used
    return (field,) if field and (call.do == "delete" or field in call.body) else ()
