"""Addresses of machines: internal ones, and external ones as soon as they are attached."""

from __future__ import annotations

import pytest

from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, NAME
from tests.scenario.capi_world import IDENTITY, MACHINES, SERVERS, Clusters, make_small
from tests.scenario.pool_world import POOLS

pytestmark = pytest.mark.looptime


def outside(world: Clusters, name: str) -> list[str]:
    found = [world.status(kind, name)["addresses"] for kind in (MACHINES, SERVERS)]
    assert found[0] == found[1], "a machine tells what its server tells"
    return [each["address"] for each in found[0] if each["type"] == "ExternalIP"]


async def test_the_api_address_is_listed_by_the_machine_that_has_it() -> None:
    """Nova does not report the address yet."""
    world = Clusters()
    world.make()
    await world.ready()
    world.machine("cp", control_plane=True)
    world.machine("m")
    for name in ("cp", "m"):
        await world.ready(MACHINES, name)
    await world.run(70)
    assert outside(world, "cp") == [world.status()["apiServerFloatingIP"]["address"]]
    assert outside(world, "m") == []
    assert {each["type"] for each in world.status(MACHINES, "cp")["addresses"]} == {
        "InternalIP", "ExternalIP", "InternalDNS",
    }  # fmt: skip


async def test_a_pool_address_is_reported_when_the_machine_becomes_ready() -> None:
    world = Clusters(core=True)
    world.write(POOLS, "p", {"identityRef": IDENTITY})
    world.make()
    await world.run(60)
    world.machine(floatingIPPoolRef={"kind": POOLS.kind, "name": "p"})
    for _ in range(120):
        await world.run(1)
        if world.status(MACHINES, "m").get("ready"):
            break
    (address,) = world.status(POOLS, "p")["claimedIPs"]
    assert outside(world, "m") == [address]


async def test_claim_and_address_have_the_cluster_label_of_their_machine() -> None:
    world = Clusters(core=True)
    world.write(POOLS, "p", {"identityRef": IDENTITY})
    world.make()
    world.machine(floatingIPPoolRef={"kind": POOLS.kind, "name": "p"})
    await world.run(120)
    for kind in (CLAIM, ADDRESS):
        (found,) = world.cluster.all(kind)
        assert found["metadata"]["labels"][NAME] == "c"


async def test_a_machine_and_its_claim_report_the_limit_of_the_pool() -> None:
    world = Clusters(core=True)
    world.write(POOLS, "p", {"identityRef": IDENTITY, "maxIPs": 1})
    world.make()
    await world.run(60)
    for name in ("m", "n"):
        world.machine(name, floatingIPPoolRef={"kind": POOLS.kind, "name": "p"})
        await world.run(90)
    why = "All addresses that spec.maxIPs of OpenStackFloatingIPPool p allows (1) are claimed"
    claim = "n-floating-ip-address"
    assert world.told(kind=CLAIM, name=claim) == ("MaxIPsReached", why)
    for kind in (SERVERS, MACHINES):
        reason, message = world.told(kind=kind, name="n")
        assert reason == "MaxIPsReached"
        assert message == f"Waiting for pool p to serve IPAddressClaim {claim}: {why}"
    writes = len(world.cluster.writes)
    await world.run(300)
    assert len(world.cluster.writes) == writes, "it is told once"
    world.write(POOLS, "p", {"identityRef": IDENTITY, "maxIPs": 2})
    await world.run(120)
    assert world.told(kind=CLAIM, name=claim)[0] == "Ready"
    assert world.told(kind=MACHINES, name="n")[0] == "Ready"


async def test_a_detached_address_is_no_longer_reported() -> None:
    world = Clusters()
    await make_small(world)
    (port,) = [t for t in world.clouds.all("port") if t.name == "m-0"]
    theirs = world.foreigner("floating-ip", floating_ip_address="198.51.100.7", port_id=port.id)
    await world.run(70)
    assert outside(world, "m") == ["198.51.100.7"]
    world.clouds.become(theirs, "", port_id=None)
    await world.run(70)
    assert outside(world, "m") == []
