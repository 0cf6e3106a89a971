"""Clouds that permanently report success without an effect: no object sends requests in a hot loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.core.openstack.calls import ADD_INTERFACE, ADD_PORT, CloudCall
from stackwright.core.openstack.resources import CloudRef, CloudResource, mark
from stackwright.runtime.queue import BURST, PACE
from tests.scenario.capi_world import BASTION, IDENTITY, PART, SERVERS
from tests.scenario.faulty_clouds import FaultyClouds
from tests.scenario.pool_world import Pools

pytestmark = pytest.mark.looptime
EACH = 4  # most requests of one look and its consequences: the look, queries, a request


class Hostile(Pools):
    """at  times of all requests"""

    def __init__(self, odd: Callable[[FaultyClouds], None]) -> None:
        super().__init__()
        self.at: list[float] = []
        answer = self.clouds._answer

        async def noted(cloud: CloudRef) -> None:
            self.at.append(asyncio.get_running_loop().time())
            if len(self.at) > 2000:
                await asyncio.Event().wait()  # stops here, because the test has failed already
            await answer(cloud)

        self.clouds._answer = noted  # type: ignore[method-assign]
        odd(self.clouds)

    def most(self) -> int:
        """The largest number of requests in one minute."""
        return max(sum(1 for at in self.at if begin <= at < begin + 60) for begin in self.at[::10])


def _deaf(clouds: FaultyClouds) -> None:
    """Attachments have no effect."""
    update = clouds._update

    def deaf(thing: CloudResource, body: Any, made: str) -> None:
        if not {ADD_INTERFACE, ADD_PORT, "port_id"} & body.keys():
            update(thing, body, made)

    clouds._update = deaf  # type: ignore[method-assign]


def _stubborn(clouds: FaultyClouds) -> None:
    """Deletions have no effect, and each creation is executed twice."""
    clouds._delete = lambda key: None  # type: ignore[method-assign]
    create = clouds._create

    def twice(call: CloudCall) -> str:
        create(call)
        return create(call)

    clouds._create = twice  # type: ignore[method-assign]


def _made(change: Callable[[FaultyClouds, CloudResource], CloudResource | None]) -> Callable[[FaultyClouds], None]:
    """Each created resource is immediately replaced by another one, or disappears."""

    def odd(clouds: FaultyClouds) -> None:
        create = clouds._create

        def made(call: CloudCall) -> str:
            id_ = create(call)
            if (call.resource_key[0], id_) in clouds.things:
                thing = change(clouds, clouds.things.pop((call.resource_key[0], id_)))
                if thing:
                    clouds.things[thing.type, id_] = thing
            return id_

        clouds._create = made  # type: ignore[method-assign]

    return odd


def _same_id(clouds: FaultyClouds) -> None:
    """Each created address has the id of the first one."""
    create = clouds._create

    def made(call: CloudCall) -> str:
        ours = [
            t.id for t in clouds.all(call.resource_key[0]) if t.mark.startswith(mark(call.uid, ("server", ""))[:-8])
        ]
        return ours[0] if call.resource_key[0] == "floating-ip" and ours else create(call)

    clouds._create = made  # type: ignore[method-assign]


def _with(what: str, **facts: Any) -> Callable[[FaultyClouds], None]:
    return _made(lambda _, t: replace(t, facts={**t.facts, **facts}) if t.type == what else t)


ODD: dict[str, Callable[[FaultyClouds], None]] = {
    "attaches nothing": _deaf,
    "deletes nothing": _stubborn,
    "has one address for all": _with("floating-ip", floating_ip_address="192.0.2.77"),
    "attaches each address elsewhere": _with("floating-ip", port_id="somebody's"),
    "has one id for all": _same_id,
    "makes nothing": _made(lambda _, t: None),
    "makes no rule": _made(lambda _, t: None if t.type == "security-group-rule" else t),
    "makes no server": _made(lambda _, t: None if t.type == "server" else t),
    "makes what is deleted": _made(lambda _, t: replace(t, state="DELETED")),
    "makes servers that are deleted": _made(lambda _, t: replace(t, state="DELETED") if t.type == "server" else t),
    "makes no marks": _made(lambda _, t: replace(t, mark="")),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("what", ["cluster", "server", "pool"])
async def test_no_object_sends_requests_in_a_hot_loop(odd: str, what: str) -> None:
    world = Hostile(ODD[odd])
    match what:
        case "cluster":
            world.make(bastion=BASTION, recreatePolicy="Always")
        case "server":
            network = world.foreigner("network", "inside")
            ports = [{"network": {"id": network.id}}]
            spec = {**PART, "identityRef": IDENTITY, "ports": ports, "trunk": True, "recreatePolicy": "Always"}
            world.write(SERVERS, "web", {**spec, "rootVolume": {"sizeGiB": 10}})
        case _:
            world.pool(reclaimPolicy="Delete")
            for name in "abc":
                world.claim(name)
            await world.run(60)
            world.delete(CLAIM, "a")
    await world.run(600)
    assert world.most() < EACH * (BURST + 60 / PACE)


async def test_a_rejected_router_interface_is_retried_rarely() -> None:
    world = Hostile(_deaf)
    world.make()
    await world.run(600)
    assert world.told("RouterReady") == ("Applying", "Attaching the subnet to the router")
    assert 30 < sum(ADD_INTERFACE in call.body for call in world.clouds.calls) < 50


async def test_a_pool_stops_after_two_equal_new_addresses() -> None:
    world = Hostile(ODD["has one address for all"])
    world.pool()
    for name in "abc":
        world.claim(name)
    await world.run(600)
    assert len(world.served()) == 1
    assert [call.do for call in world.clouds.calls] == ["create"] * 2
    assert world.told_of()[0] == "BlockedAddressesOfNoUse"
    assert "have the same address, 192.0.2.77" in world.told_of()[1]


async def test_a_cluster_with_many_rules_is_created_without_pauses() -> None:
    world = Hostile(lambda clouds: None)
    rules = [{"name": f"r{n}", "direction": "ingress", "protocol": "tcp", "portRangeMin": n} for n in range(1, 41)]
    managed = {"controlPlaneNodesSecurityGroupRules": [{**rule, "portRangeMax": 99} for rule in rules]}
    world.make(managedSecurityGroups=managed)
    await world.run(5)
    assert world.told()[0] == "Ready"
