"""One shared request: callers wait only briefly for it, and its response is not lost."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from dataclasses import replace
from unittest.mock import Mock

import pytest

from stackwright.adapters.openstack.tenant import clouds, lists, single_flight, snapshot
from stackwright.adapters.openstack.tenant.rest_types import REST
from stackwright.adapters.openstack.tenant.single_flight import PATIENCE, SingleFlight
from stackwright.adapters.openstack.transport import project_connection
from stackwright.core.openstack.clouds import Subscription, look, query
from stackwright.core.openstack.errors import TransientCloudError
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


class Late:
    """A cloud whose responses take a tenth of a second."""

    def __init__(self, answer: list[CloudResource]) -> None:
        self.answer, self.asked, self.ended = answer, 0, 0

    def __call__(self, *_: object) -> list[CloudResource]:
        self.asked += 1
        time.sleep(0.1)
        self.ended += 1
        return self.answer


async def test_a_list_with_slow_pages_is_reported_and_used_when_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    fetch, find = Late([CloudResource("server", "1", state="ACTIVE")]), Late([CloudResource("image", "i")])
    monkeypatch.setattr(lists, "fetch", fetch)
    monkeypatch.setattr(clouds, "find", find)
    monkeypatch.setattr(project_connection, "connection", lambda *_: Mock(current_project_id="p"))
    monkeypatch.setattr(single_flight, "PATIENCE", 0.02)

    async def secrets(key: object) -> object:
        text = "clouds: {mine: {auth: {auth_url: https://keystone/v3}}}"
        return {"data": {"clouds.yaml": b64encode(text.encode()).decode()}}

    cloud, image = CloudRef(("ns", "clouds"), "mine"), query("image", name="debian")
    port = clouds.OpenStackClouds(secrets, lambda controller, key: None)  # type: ignore[arg-type]
    asker = Subscription(
        "server", ("ns", "a"), "uid", ("server",), frozenset({("server", "1")}), waits=True, begun=False
    )
    idle = replace(asker, waits=False)
    assert (await look(port, cloud, idle)).unseen == {"server"}, "who waits for nothing is not troubled"
    for call in (lambda: look(port, cloud, asker), lambda: port.find(cloud, image)):
        with pytest.raises(TransientCloudError, match="no response within"):
            await call()
    for _ in range(100):
        if fetch.ended and find.ended:
            break
        await asyncio.to_thread(time.sleep, 0.1)
    assert [thing.state for thing in (await look(port, cloud, idle)).things] == ["ACTIVE"]
    assert [thing.id for thing in await port.find(cloud, image)] == ["i"]
    assert (fetch.asked, find.asked) == (1, 1)
    fetch.answer = [CloudResource("server", "1", state="SHUTOFF")]
    monkeypatch.setitem(REST, "server", replace(REST["server"], age=(0.0, 0.0), share=0))
    monkeypatch.setattr(snapshot, "PART", 0)
    monkeypatch.setattr(lists, "peek", lambda *_: [])
    monkeypatch.setattr(lists, "MOMENT", 0.02)
    before = await look(port, cloud, idle)
    assert [thing.state for thing in before.things] == ["ACTIVE"], "the last one will do"
    for _ in range(100):
        if [thing.state for thing in (await look(port, cloud, idle)).things] == ["SHUTOFF"]:
            break
        await asyncio.to_thread(time.sleep, 0.05)
    else:
        raise AssertionError("the newer list came to nothing")
    await port.close()
