"""What responses tell about their service: its clock, and whether it sends request ids."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from time import monotonic
from typing import Any
from unittest.mock import Mock

import pytest
from keystoneauth1.access.access import AccessInfoV3

from stackwright.adapters.openstack.tenant import changes as tenant_changes
from stackwright.adapters.openstack.tenant import lists as tenant_lists
from stackwright.adapters.openstack.tenant.absence import SETTLE
from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.adapters.openstack.tenant.rest.reads import fetch, single
from stackwright.adapters.openstack.tenant.rest.rest_types import PAUSE, REST, ListPolicy
from stackwright.adapters.openstack.tenant.snapshot import PART, Snapshot
from stackwright.adapters.openstack.tenant.whole_list import WHOLE, WholeList
from stackwright.adapters.openstack.transport import single_flight
from stackwright.adapters.openstack.transport.send import request, state_of
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import look
from stackwright.core.openstack.errors import ListTooLong, Reason, TransientCloudError
from stackwright.core.openstack.resources import SERVER_KEY, CloudResource, mark
from support.waiting import until
from tests.unit.adapters.openstack.tenant.test_clouds import (
    CLOUD,
    UID,
    Lists,
    Response,
    Services,
    Time,
    answer_without_id,
    clouds,
    lists,
    refresh,
    subscription,
    time,
)

__all__ = ["lists", "time"]


def test_a_list_of_changes_is_of_those_since_the_last_list_by_novas_clock() -> None:
    """Nothing is known of its difference from ours."""
    services = Services(lambda method, path, body: Response(200, {}, Date="Thu, 01 May 2031 10:00:30 GMT"))
    request(services, "compute", "GET", "/servers")  # type: ignore[arg-type]
    now, clock = monotonic(), state_of(services).clock("compute")  # type: ignore[arg-type]
    snapshot = Snapshot()
    snapshot.replace("server", [], began=now - 20.0)
    assert snapshot.since("server", None) == "", "a whole list is fetched"
    assert snapshot.since("server", clock) in ("2031-05-01T10:00:04Z", "2031-05-01T10:00:05Z")
    snapshot.replace("port", [], began=now)
    snapshot.update("server", [], began=now - 10.0)
    assert snapshot.since("server", clock) in ("2031-05-01T10:00:14Z", "2031-05-01T10:00:15Z")
    snapshot.replace("server", [], began=now - 15.0)
    assert snapshot.since("server", clock) in ("2031-05-01T10:00:14Z", "2031-05-01T10:00:15Z"), "it began before"
    assert (snapshot.since("server", -1e12), snapshot.since("server", 1e12)) == (
        "1970-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    )


@pytest.mark.parametrize("date", ["", "now", "Thu, 99 May 2031 10:00:30 GMT", "1924864830"])
def test_a_date_that_is_none_tells_nothing(date: str) -> None:
    services = Services(lambda method, path, body: Response(200, {}, Date=date))
    request(services, "compute", "GET", "/servers")  # type: ignore[arg-type]
    assert state_of(services).clock("compute") is None  # type: ignore[arg-type]


def test_where_nova_sends_no_date_its_time_is_that_of_the_token() -> None:
    services = Services(lambda method, path, body: Response(200, {}))
    for year in (2031, 2032):
        issued = datetime(year, 5, 1, 10, tzinfo=UTC)
        services.session.auth.auth_ref = Mock(issued=issued)
        for _ in range(2):
            now = monotonic()
            request(services, "compute", "GET", "/servers")  # type: ignore[arg-type]
            clock = state_of(services).clock("compute")  # type: ignore[arg-type]
            assert clock == pytest.approx(issued.timestamp() - now, abs=1)
    services.session.auth.auth_ref = AccessInfoV3("t", {"token": {"issued_at": "yesterday"}})
    request(services, "compute", "GET", "/servers")  # type: ignore[arg-type]
    assert state_of(services).clock("compute") == clock  # type: ignore[arg-type]


@pytest.mark.parametrize("ahead", [-3600.0, -14.0, 14.0, 60.0, 3600.0])
def test_novas_time_is_the_earlier_one_of_date_and_token(ahead: float) -> None:
    """A gateway ahead of Nova may write the date, and a list of changes must not begin too late."""
    services = Services(lambda method, path, body: Response(200, {}, Date="Thu, 01 May 2031 10:00:30 GMT"))
    date = datetime(2031, 5, 1, 10, 0, 30, tzinfo=UTC).timestamp()
    services.session.auth.auth_ref = Mock(issued=datetime.fromtimestamp(date - ahead, UTC))
    now = monotonic()
    request(services, "compute", "GET", "/servers")  # type: ignore[arg-type]
    clock = state_of(services).clock("compute")  # type: ignore[arg-type]
    assert clock == pytest.approx(date - max(ahead, 0.0) - now, abs=1)


async def test_only_a_whole_list_proves_that_a_server_is_absent(lists: Lists, time: Time) -> None:
    """A list of changes lacks a new server if Nova's clock is not what it seems."""
    port_ = clouds([])
    assert not (await look(port_, CLOUD, subscription(1, waits=True))).settled
    project = await refresh(port_)
    time.now += SETTLE + 1
    project.snapshot.update("server", [], began=time.now)
    lists.asked.clear()
    assert (await look(port_, CLOUD, subscription(1, waits=True))).settled
    assert [partly for what, partly in lists.asked if what == "server"] == [False]
    await port_.close()


async def test_a_type_is_listed_as_its_entry_says(lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that has the list of servers in its entry is peeked at, and its changes are listed."""
    monkeypatch.setitem(REST, "volume", replace(REST["volume"], lists=REST["server"].lists))
    monkeypatch.setitem(REST, "server", replace(REST["server"], lists=ListPolicy()))
    port_, one = clouds([]), replace(subscription(1, waits=True, begun=False), ids=frozenset({("volume", "1")}))
    lists.things["volume"] = [CloudResource("volume", "1", state="creating")]
    await look(port_, CLOUD, one)
    lists.things["volume"] = [CloudResource("volume", "1", state="available")]
    time.now += PART
    (project,) = port_._projects.values()
    await port_._lists.refresh(CLOUD, project, "volume", True)
    await until(lambda: not project.part["volume"].flies)
    assert [thing.state for thing in (await look(port_, CLOUD, one)).things] == ["available"]
    assert (lists.peeks, [partly for what, partly in lists.asked if what == "volume"]) == (1, [False, True])
    assert [partly for what, partly in lists.asked if what == "server"] == [False]
    await port_.close()


async def test_the_list_that_proves_absence_delays_no_peek(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, project = Event(), None

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        if project and what == "server":
            free.wait(100)
        return lists(connection, what, since)

    monkeypatch.setattr(tenant_lists, "fetch", fetch)
    port_ = clouds([])
    await look(port_, CLOUD, subscription(1, waits=True))
    project = await refresh(port_)
    time.now += SETTLE + 1
    proof = asyncio.create_task(look(port_, CLOUD, subscription(1, waits=True)))
    try:
        while not project.whole["server"].flies:
            await asyncio.sleep(0.01)
        peeks = lists.peeks
        await asyncio.wait_for(refresh(port_), 60)
        assert lists.peeks == peeks + 1
    finally:
        free.set()
    assert (await proof).settled
    await port_.close()


async def fails(
    port_: OpenStackClouds, what: Any, monkeypatch: pytest.MonkeyPatch, after: float | None = None
) -> float:
    """The creation of a resource ends in a 504, with this Retry-After; returns the seconds until the retry."""

    def failing(*call: Any) -> Any:
        raise TransientCloudError(Reason.SERVER_ERROR, "HTTP 504", after)

    monkeypatch.setattr(tenant_changes, "run", failing)
    with pytest.raises(TransientCloudError, match="504") as told:
        await port_.submit(CloudCall(CLOUD, "create", (what, "n"), f"{UID}1"))
    return told.value.after or 0.0


@pytest.mark.parametrize(("what", "whole"), [("server", [False]), ("port", [])])
async def test_only_an_uncertain_server_needs_a_whole_list_of_servers(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch, what: str, whole: list[bool]
) -> None:
    port_, one = clouds([]), replace(subscription(1, waits=True, begun=False), ids=frozenset())
    assert (await look(port_, CLOUD, one)).settled
    time.now += await fails(port_, what, monkeypatch)
    lists.asked.clear()
    assert (await look(port_, CLOUD, one)).settled
    assert [partly for each, partly in lists.asked if each == "server" and not partly] == whole
    assert (what, False) in lists.asked
    await port_.close()


async def test_an_uncertain_request_stays_uncertain_until_a_whole_list(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if expired data is removed in between."""
    port_, one = clouds([]), replace(subscription(1, waits=True, begun=False), ids=frozenset())
    assert (await look(port_, CLOUD, one)).settled
    await fails(port_, "server", monkeypatch)
    time.now += SETTLE
    port_._sweep(time.now)
    assert not port_.view(one).settled
    assert (await look(port_, CLOUD, one)).settled
    port_._sweep(time.now)
    assert not port_._changes._uncertain
    await port_.close()


async def test_the_list_that_proves_absence_runs_in_the_background_until_the_retry(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    port_, one = clouds([]), replace(subscription(1, waits=True, begun=False), ids=frozenset())
    await look(port_, CLOUD, one)
    whole = (await refresh(port_)).snapshot.whole["server"]
    whole.took, whole.tried = 10.0, time.now - 10
    after = await fails(port_, "server", monkeypatch)
    begins = (
        30 + REST["server"].lists.waiting
    )  # the last list began 10 s ago and took 10 s; the watch looks now and then
    assert after == begins + 1.5 * 10
    lists.asked.clear()
    for seconds, begun in ((SETTLE, 0), (30 - SETTLE, 1), (10, 1)):
        time.now += seconds
        project = await refresh(port_)
        await until(lambda: not project.whole["server"].flies)  # noqa: B023
        assert lists.asked.count(("server", False)) == begun
    assert (await look(port_, CLOUD, one)).settled
    assert lists.asked.count(("server", False)) == 1
    await port_.close()


@pytest.mark.parametrize("waits", [True, False])
async def test_the_watch_runs_until_the_list_that_proves_absence(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    """It begins that list, which no look does while Nova is slow. Nothing watches for an object that does not wait."""
    port_, one = clouds([]), replace(subscription(1, waits=waits, begun=False), ids=frozenset())
    await look(port_, CLOUD, replace(one, waits=True))
    await port_.subscribe(CLOUD, one)
    project = await refresh(port_)
    project.snapshot.whole["server"].took, project.snapshot.whole["server"].tried = 30.0, time.now
    after = await fails(port_, "server", monkeypatch)
    assert after > 120
    time.now += after - 1
    assert [each.uid for each in project.waiting()] == ([one.uid] if waits else [])
    await port_.close()


async def test_a_cloud_that_asks_for_a_later_retry_gets_it(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    port_, one = clouds([]), replace(subscription(1, waits=True, begun=False), ids=frozenset())
    await look(port_, CLOUD, one)
    assert await fails(port_, "server", monkeypatch, after=500.0) == 500.0
    await port_.close()


async def test_a_slow_list_that_proves_absence_fails_no_look(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    port_, one = clouds([]), replace(subscription(1, waits=True, begun=False), ids=frozenset())
    await look(port_, CLOUD, one)
    time.now += await fails(port_, "server", monkeypatch)
    free = Event()
    monkeypatch.setattr(tenant_lists, "fetch", lambda *args: free.wait(100) and lists(*args))
    monkeypatch.setattr(single_flight, "PATIENCE", 0.01)
    try:
        view = await look(port_, CLOUD, one)
        assert not view.settled
        assert not view.unlisted_types
    finally:
        free.set()
        await port_.close()


def test_one_whole_list_serves_all_that_need_it_and_the_next_one_leaves_time() -> None:
    whole = WholeList(took=10.0, tried=100.0)
    assert [whole.need(settled) for settled in (108.0, 109.0, 139.0)] == [155.0, 155.0, 155.0]
    assert whole.need(141.0) == 195.0, "after the one at 140"
    assert [whole.due(100.0, now) for now in (108.0, 139.9, 140.0)] == [False, False, True]
    whole.tried = 140.0
    whole.ended(140.0)
    assert [whole.due(140.0, now) for now in (150.0, 179.9, 180.0)] == [False, False, True]
    whole.tried = 180.0
    whole.ended(180.0)
    assert not whole.due(180.0, 220.0), "nobody needs one"
    assert whole.due(180.0, 180.0 + max(WHOLE, PAUSE * whole.took))


def test_a_list_serves_what_needs_it_at_its_beginning() -> None:
    whole = WholeList()
    whole.need(100.0)
    whole.ended(100.0)
    assert not whole.due(100.0, 101.0)


def test_many_uncertain_requests_need_few_lists() -> None:
    whole = WholeList(took=1.0, tried=100.0)
    for number in range(100_000):
        whole.need(200.0 + number / 10_000)
    assert len(whole.needed) <= 11


@pytest.mark.parametrize(("failed", "begins"), [(15.0, 160.0), (20.0, 180.0), (60.0, 220.0), (300.0, 460.0)])
def test_after_a_list_that_failed_nova_rests_for_three_times_its_duration_or_a_minute(
    failed: float, begins: float
) -> None:
    whole = WholeList(took=1.0, failed=failed, tried=100.0)
    assert whole.need(101.0) == begins + 1.5
    assert [whole.due(0.0, now) for now in (begins - 0.1, begins)] == [False, True]
    whole.ended(begins)
    assert [whole.due(0.0, now) for now in (begins - 0.1, begins)] == [False, begins >= WHOLE], "nobody needs one"


async def test_a_whole_list_that_fails_leaves_time_too(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overloaded Nova fails it after a minute."""
    port_, one = clouds([]), replace(subscription(1, waits=True, begun=False), ids=frozenset())
    await look(port_, CLOUD, one)
    time.now += await fails(port_, "server", monkeypatch)

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        if what == "server" and not since:
            lists.asked.append((what, False))
            time.now += 9
            raise TransientCloudError(Reason.SERVER_ERROR, "HTTP 504")
        return []

    monkeypatch.setattr(tenant_lists, "fetch", fetch)
    lists.asked.clear()

    async def watch(after: float) -> int:
        time.now += after
        project = await refresh(port_)
        await until(lambda: not project.whole["server"].flies)
        return lists.asked.count(("server", False))

    assert await watch(1) == 1
    time.now += 16
    assert not (await look(port_, CLOUD, one)).settled
    assert await watch(1) == 1, "neither a look nor the watch begins the next list within 36 s"
    assert await watch(10) == 2
    monkeypatch.setattr(tenant_lists, "fetch", lists)
    assert await watch(27) == 3
    assert await fails(port_, "server", monkeypatch) < 10, "a success ends that"
    await port_.close()


@pytest.mark.parametrize(("status", "form"), [(503, "application/json"), (200, "text/html")])
def test_an_answer_of_a_proxy_tells_nothing_of_nova(status: int, form: str) -> None:
    headers = {"Date": "Thu, 01 May 2031 10:00:30 GMT", "Content-Type": form}
    services = Services(lambda method, path, body: answer_without_id(status, "", **headers))
    with suppress(TransientCloudError):
        request(services, "compute", "GET", "/servers")  # type: ignore[arg-type]
    state = state_of(services)  # type: ignore[arg-type]
    assert (state.clock("compute"), state.ids) == (None, {})


async def test_where_nova_tells_no_time_whole_lists_are_fetched_and_no_more_than_it_can_take(
    lists: Lists, time: Time
) -> None:
    lists.clock = None
    lists.things["server"] = [CloudResource("server", "1", state="BUILD")]
    port_ = clouds([])
    await look(port_, CLOUD, subscription(1, waits=True, begun=False))
    project = await refresh(port_)
    project.snapshot.took["server"] = 7.0
    lists.asked.clear()
    time.now += 6.9
    await refresh(port_)
    assert lists.asked == []
    time.now += 0.1
    await refresh(port_)
    assert (lists.asked, lists.peeks) == ([("server", False)], 0)
    await port_.close()


async def test_changes_that_are_too_many_are_taken_from_the_whole_list(
    lists: Lists, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nova lists deleted servers among the changes."""

    def fetch(connection: Any, what: str, since: str = "") -> list[CloudResource]:
        time.now += 11  # it is slow to tell that, and does not hang
        found = lists(connection, what, since)
        if since:
            raise ListTooLong(Reason.UNREACHABLE, "the list of servers exceeds the limit of 25000 items")
        return found

    monkeypatch.setattr(tenant_lists, "fetch", fetch)
    port_, one = clouds([]), replace(subscription(1), ids=frozenset())
    await look(port_, CLOUD, one)
    lists.things["server"] = [CloudResource("server", "1", mark=mark(one.uid, SERVER_KEY))]
    time.now += 60
    assert [thing.id for thing in (await look(port_, CLOUD, one)).things] == ["1"]
    await port_.close()


OPENSTACK = [
    {"itemNotFound": {"code": 404, "message": "Volume v could not be found."}},
    {"NeutronError": {"type": "HTTPNotFound", "message": "The resource could not be found.", "detail": ""}},
    {"message": "The resource could not be found.", "code": "404 Not Found", "title": "Not Found"},
    {"code": 404, "title": "Not Found", "description": ""},
]
OTHERS = [
    "404 page not found",
    ["not found"],
    {"message": "no Route matched with those values"},
    {"title": "Not Found", "status": 404},
    {"kind": "Status", "code": 404, "message": "not found"},
    {"error": {"code": 404, "message": "not found"}},
]


@pytest.mark.parametrize("body", OPENSTACK)
def test_a_404_in_openstacks_form_is_openstacks_without_an_id_too(body: Any) -> None:
    services = Services(lambda method, path, params: answer_without_id(404, body))
    assert single(services, "volume", "v") is None  # type: ignore[arg-type]


@pytest.mark.parametrize("body", OTHERS)
@pytest.mark.parametrize("ids", [True, False, None], ids=["sent", "never sent", "no answer yet"])
def test_a_404_in_another_form_counts_where_no_answer_has_an_id(body: Any, ids: bool | None) -> None:
    """A gateway takes them away. Else the answer is that of a proxy."""

    def answer(method: str, path: str, params: Any) -> Response:
        if path == "/volumes/v":
            return answer_without_id(404, body)
        return (Response if ids else answer_without_id)(200, {"volumes": []})

    services = Services(answer)
    if ids is not None:
        fetch(services, "volume")  # type: ignore[arg-type]
    if ids is False:
        assert single(services, "volume", "v") is None  # type: ignore[arg-type]
    else:
        with pytest.raises(TransientCloudError, match="without the header X-Openstack-Request-Id") as raised:
            single(services, "volume", "v")  # type: ignore[arg-type]
        assert raised.value.cause is Reason.UNREACHABLE
