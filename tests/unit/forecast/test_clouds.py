"""The forecast of an OpenStack: changes are made in the forecast only, never in the real cloud."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Subscription, look
from stackwright.core.openstack.clouds import run as submit
from stackwright.core.openstack.errors import Late, Reason
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView, ResourceKey
from stackwright.forecast.clouds import PATIENCE, ForecastClouds

CLOUD = CloudRef(("ns", "clouds"), "mine")
IDS = frozenset({("server", "s"), ("port", "p"), ("volume", "v")})
SUBSCRIPTION = Subscription("server", ("ns", "web"), "uid", ("server", "port", "volume"), IDS)
SERVER = CloudResource("server", "s", "web", "ACTIVE", facts={"volumes": [], "addresses": {}, "metadata": {"a": "2"}})
PORT = CloudResource("port", "p", "web-0", facts={"mac_address": "fa:16:3e:00:00:01"})


class Real:
    """A cloud that may be read but not changed."""

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        pass

    def view(self, subscription: Subscription) -> ProjectView:
        return ProjectView((SERVER, PORT))


async def after(what: ResourceKey, id_: str, **body: Any) -> dict[str, CloudResource]:
    clouds = ForecastClouds(Real())  # type: ignore[arg-type]
    await look(clouds, CLOUD, SUBSCRIPTION)
    await submit(clouds, CloudCall(CLOUD, "update", what, "uid", id=id_, body=body))
    return {thing.id: thing for thing in (await look(clouds, CLOUD, SUBSCRIPTION)).things}


def test_existing_resources_have_the_requested_state() -> None:
    found = asyncio.run(after(("server", ""), "s", metadata={"a": "1"}))
    assert found["s"].facts == {**SERVER.facts, "metadata": {"a": "1"}}
    assert found["p"] == PORT


def test_attached_resources_exist_afterwards() -> None:
    found = asyncio.run(after(("server", ""), "s", add_volume="v"))
    assert found["s"].facts["volumes"] == ["v"]
    found = asyncio.run(after(("server", ""), "s", add_port="p"))
    ((entry,),) = found["s"].facts["addresses"].values()
    assert entry["OS-EXT-IPS-MAC:mac_addr"] == PORT.facts["mac_address"]


class Slow(Real):
    """Its lists are slow, and lack resources that a second request returns."""

    def __init__(self) -> None:
        self.asked = 0

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        self.asked += 1
        if self.asked == 1:
            raise Late(Reason.UNREACHABLE, "it is still waited for")

    def view(self, subscription: Subscription) -> ProjectView:
        return ProjectView((SERVER, PORT), self.asked > 2)


@pytest.mark.looptime
async def test_a_long_list_is_waited_for_and_so_is_certainty() -> None:
    slow = Slow()
    clouds = ForecastClouds(slow)  # type: ignore[arg-type]
    assert (await look(clouds, CLOUD, SUBSCRIPTION)).certain
    assert (slow.asked, clouds.unreachable) == (3, {})
    await look(clouds, CLOUD, SUBSCRIPTION)
    assert slow.asked == 3, "one look will do"


class Unsure(Real):
    def view(self, subscription: Subscription) -> ProjectView:
        return ProjectView((SERVER, PORT), settled=False)


@pytest.mark.looptime
async def test_a_forecast_has_one_patience_for_all_objects() -> None:
    clouds, loop = ForecastClouds(Unsure()), asyncio.get_running_loop()  # type: ignore[arg-type]
    subscriptions = [replace(SUBSCRIPTION, uid=f"uid-{number}") for number in range(20)]
    async with clouds.together():
        for subscription in subscriptions:
            with suppress(Late):
                await clouds.subscribe(CLOUD, subscription)
    for subscription in (*subscriptions, SUBSCRIPTION):
        assert not (await look(clouds, CLOUD, subscription)).certain
    assert PATIENCE <= loop.time() < PATIENCE + 5
    assert clouds.unreachable == {}


@pytest.mark.looptime
async def test_only_waits_use_up_the_patience() -> None:
    """A forecast of very many objects takes longer than it may wait."""
    slow = Slow()
    clouds = ForecastClouds(slow)  # type: ignore[arg-type]
    await asyncio.sleep(2 * PATIENCE)
    assert (await look(clouds, CLOUD, SUBSCRIPTION)).certain
    assert clouds.unreachable == {}
