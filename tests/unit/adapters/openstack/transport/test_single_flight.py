"""One shared request: callers wait only briefly for it, and its response is not lost."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from contextlib import suppress
from dataclasses import replace
from threading import Event
from unittest.mock import Mock

import pytest

from stackwright.adapters.openstack.tenant import clouds, lists, snapshot
from stackwright.adapters.openstack.tenant.rest.rest_types import REST
from stackwright.adapters.openstack.transport import project_connection, single_flight
from stackwright.adapters.openstack.transport.single_flight import PATIENCE, SingleFlight
from stackwright.core.openstack.clouds import Subscription, look, query
from stackwright.core.openstack.errors import Late, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource


class Slow:
    """Takes `seconds`, each time."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        self.seconds, self.error, self.begun, self.ended = seconds, error, 0, 0

    async def __call__(self) -> int:
        self.begun += 1
        await asyncio.sleep(self.seconds)
        self.ended += 1
        if self.error:
            raise self.error
        return self.ended


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = type("Clock", (), {"monotonic": staticmethod(lambda: asyncio.get_running_loop().time())})
    monkeypatch.setattr(single_flight, "time", clock)


@pytest.mark.looptime
@pytest.mark.usefixtures("simulated")
async def test_concurrent_callers_share_one_flight() -> None:
    flight, ask = SingleFlight[int](), Slow(1)
    assert await asyncio.gather(*(flight.join("list", ask) for _ in range(5))) == [1] * 5
    assert ask.begun == 1
    assert await flight.join("list", ask) == 2, "who comes later asks again"


@pytest.mark.looptime
@pytest.mark.usefixtures("simulated")
async def test_callers_stop_waiting_for_a_slow_flight_that_continues() -> None:
    flight, ask = SingleFlight[int](), Slow(20)
    start = asyncio.get_running_loop().time()
    for _ in range(3):
        with pytest.raises(
            TransientCloudError, match="list of servers: no response within 5 s; the request is still in progress"
        ) as told:
            await flight.join("list of servers", ask)
        assert told.value.reason == "Unreachable"
    assert asyncio.get_running_loop().time() - start == pytest.approx(PATIENCE), "all together"
    await asyncio.sleep(20)
    assert (ask.begun, ask.ended) == (1, 1)


@pytest.mark.looptime
@pytest.mark.usefixtures("simulated")
async def test_an_error_reaches_all_waiting_callers() -> None:
    flight, ask = SingleFlight[int](), Slow(1, TransientCloudError("ServerError", "HTTP 500"))
    told = await asyncio.gather(*(flight.join("list", ask) for _ in range(2)), return_exceptions=True)
    assert [str(each) for each in told] == ["HTTP 500", "HTTP 500"]
    late = Slow(9, TransientCloudError("ServerError", "HTTP 500"))
    with pytest.raises(TransientCloudError, match="no response"):
        await flight.join("list", late)
    await asyncio.sleep(9)
    assert late.ended == 1


class Gate:
    """A cloud that responds once it is permitted to."""

    def __init__(self, answer: list[CloudResource]) -> None:
        self.answer, self.asked, self.permitted = answer, 0, Event()

    def __call__(self, *_: object) -> list[CloudResource]:
        self.asked += 1
        assert self.permitted.wait(60)
        return self.answer


async def test_a_list_with_slow_pages_is_reported_and_used_when_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    fetch, find = Gate([CloudResource("server", "1", state="ACTIVE")]), Gate([CloudResource("image", "i")])
    monkeypatch.setattr(lists, "fetch", fetch)
    monkeypatch.setattr(clouds, "find", find)
    monkeypatch.setattr(project_connection, "connection", lambda *_: Mock(current_project_id="p"))
    monkeypatch.setattr(single_flight, "PATIENCE", 0.02)

    async def secrets(key: object) -> object:
        text = "clouds: {mine: {auth: {auth_url: https://keystone/v3}}}"
        return {"data": {"clouds.yaml": b64encode(text.encode()).decode()}}

    cloud, image = CloudRef(("ns", "clouds"), "mine"), query("image", name="debian")
    port = clouds.OpenStackClouds(secrets, lambda controller, key: None)  # type: ignore[arg-type]
    subscription = Subscription(
        "server", ("ns", "a"), "uid", ("server",), frozenset({("server", "1")}), waits=True, begun=False
    )
    idle = replace(subscription, waits=False)
    assert (await look(port, cloud, idle)).unlisted_types == {"server"}, "who waits for nothing is not troubled"
    for call in (lambda: look(port, cloud, subscription), lambda: port.find(cloud, image)):
        with pytest.raises(TransientCloudError, match="no response within"):
            await call()
    fetch.permitted.set()
    find.permitted.set()
    async with asyncio.timeout(60):
        while [thing.state for thing in (await look(port, cloud, idle)).things] != ["ACTIVE"]:
            await asyncio.sleep(0.01)
        found: list[CloudResource] = []
        while not found:
            with suppress(Late):
                found = await port.find(cloud, image)
    assert [thing.id for thing in found] == ["i"]
    assert (fetch.asked, find.asked) == (1, 1)
    fetch.permitted.clear()
    fetch.answer = [CloudResource("server", "1", state="SHUTOFF")]
    monkeypatch.setitem(
        REST, "server", replace(REST["server"], lists=replace(REST["server"].lists, waiting=0.0, idle=0.0, pause=0.0))
    )
    monkeypatch.setattr(snapshot, "PART", 0)
    monkeypatch.setattr(lists, "peek", lambda *_: [])
    monkeypatch.setattr(lists, "MOMENT", 0.02)
    before = await look(port, cloud, idle)
    assert [thing.state for thing in before.things] == ["ACTIVE"], "the last one will do"
    fetch.permitted.set()
    async with asyncio.timeout(60):
        while [thing.state for thing in (await look(port, cloud, idle)).things] != ["SHUTOFF"]:
            await asyncio.sleep(0.05)
    await port.close()
