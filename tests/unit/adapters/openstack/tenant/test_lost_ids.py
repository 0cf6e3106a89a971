"""A resource that was created is known or searched, whatever the cloud answers to the requests that follow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from keystoneauth1.exceptions import ConnectFailure

from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.adapters.openstack.tenant.rest.rest_types import REST
from stackwright.adapters.openstack.transport import project_connection
from stackwright.controllers.infra.drift import corrections
from stackwright.controllers.infra.managed_resources import DesiredResource, Owner, plan_next
from stackwright.controllers.infra.teardown import plan_removal
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Done, Subscription, look
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES, deletion_order
from stackwright.core.openstack.resources import ANSWERED
from support.openstack import owned_types
from tests.unit.adapters.openstack.tenant.test_clouds import (
    CLOUD,
    UID,
    Lists,
    Response,
    Services,
    answer_without_id,
    clouds,
    lists,
)

__all__ = ["lists"]
OWNER = Owner(CLOUD, UID)
BODY = {"name": "n", "security_group_id": "g", "tags": ["team-a"]}
TAGGED = [what for what in owned_types() if REST[what].apart and TYPES[what].mark != "tags"]
Answer = Callable[[], Response]


def refusal(status: int) -> Answer:
    return lambda: Response(status, {"NeutronError": {"message": "no"}})


def unreachable() -> Response:
    raise ConnectFailure("no way")


def broken() -> Response:
    raise KeyError("of the library")


LATER: dict[str, Answer] = {
    **{str(status): refusal(status) for status in (401, 404, 429)}, "unreachable": unreachable, "broken": broken,
}  # fmt: skip
UNCERTAIN: dict[str, Answer] = {
    "408": refusal(408), "504": refusal(504), "foreign": lambda: answer_without_id(404, {}),
    "unreachable": unreachable, "broken": broken,
    "no JSON": lambda: Response(201), "no id": lambda: Response(201, {}), "redirect": lambda: Response(302, {}),
}  # fmt: skip


def call(what: str) -> CloudCall:
    return OWNER.call("create", (what, "n"), body=BODY)


def asks(what: str) -> Subscription:
    return Subscription("test", ("ns", "n"), UID, (what,), waits=True, begun=False)


class Cloud(Services):
    def close(self) -> None:
        pass


@asynccontextmanager
async def seen(
    what: str, monkeypatch: pytest.MonkeyPatch, later: Answer, first: Answer | None = None
) -> AsyncIterator[OpenStackClouds]:
    """A port to a cloud that answers the creation with `first`, or else well, and all other requests with `later`.

    An object has looked. All lists are empty, like those from before the creation.
    """

    def answer(method: str, path: str, body: Any) -> Response:
        if (method, path) != ("POST", REST[what].path):
            return later()
        key = REST[what].key
        return first() if first else Response(201, {key: {"id": "made", **body[key]}})

    monkeypatch.setattr(project_connection, "connection", lambda *_: Cloud(answer, "p"))
    port_ = clouds([])
    try:
        assert (await look(port_, CLOUD, asks(what))).certain
        yield port_
    finally:
        await port_.close()


PART = {what: DesiredResource((what, "n"), lambda _: BODY) for what in owned_types()}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("what", owned_types())
async def test_no_later_answer_loses_a_created_resource(
    lists: Lists, monkeypatch: pytest.MonkeyPatch, what: str, later: str
) -> None:
    async with seen(what, monkeypatch, LATER[later]) as port_:
        assert await port_.submit(call(what)) == Done("made")
        view = await look(port_, CLOUD, asks(what))
    found = plan_next(OWNER, [PART[what]], {}, view)
    assert (found.calls, found.record) == ((), {(what, "n"): "made"}), "it is not created again"
    assert not view.things[0].facts.get(ANSWERED), "a volume of which the metadata lack its id"
    tags = {"tags": ["team-a"]} if what in TAGGED else None
    assert [call.body for call in corrections(OWNER, [PART[what]], found)] == ([tags] if tags else [])
    if what in deletion_order():  # a rule is deleted with its group
        assert [call.id for call in plan_removal(OWNER, {}, view).calls] == ["made"], "deleted before it is recorded"


@pytest.mark.parametrize("first", UNCERTAIN)
@pytest.mark.parametrize("what", ["network", "server", "volume"])
async def test_a_creation_without_a_clear_answer_is_uncertain(
    lists: Lists, monkeypatch: pytest.MonkeyPatch, what: str, first: str
) -> None:
    async with seen(what, monkeypatch, unreachable, UNCERTAIN[first]) as port_:
        with pytest.raises(TransientCloudError):
            await port_.submit(call(what))
        view = port_.view(asks(what))
    assert not view.certain
    assert not plan_next(OWNER, [PART[what]], {}, view).calls
    assert not plan_removal(OWNER, {}, view).complete


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429])
async def test_a_refused_creation_created_nothing(lists: Lists, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    async with seen("network", monkeypatch, unreachable, refusal(status)) as port_:
        with pytest.raises((TransientCloudError, TerminalCloudError)):
            await port_.submit(call("network"))
        assert port_.view(asks("network")).certain
