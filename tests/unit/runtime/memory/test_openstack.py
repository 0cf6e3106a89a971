"""The OpenStack in memory refuses what Neutron refuses, so that a wrong order fails."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import run as submit
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resources import CloudRef
from stackwright.runtime.memory import FrozenClock
from support.openstack import MemoryClouds

CLOUD = CloudRef(("ns", "clouds"), "mine")
UID = "5b6c1d0e-0000-4000-8000-000000000001"


@pytest.fixture
def clouds() -> MemoryClouds:
    return MemoryClouds(FrozenClock(0.0))


async def make(clouds: MemoryClouds, what: Any, **body: Any) -> str:
    return await submit(clouds, CloudCall(CLOUD, "create", (what, "a"), UID, body=body))


async def remove(clouds: MemoryClouds, what: Any, id_: str) -> None:
    await submit(clouds, CloudCall(CLOUD, "delete", (what, "a"), UID, id=id_))


async def change(clouds: MemoryClouds, what: Any, id_: str, **body: Any) -> None:
    await submit(clouds, CloudCall(CLOUD, "update", (what, "a"), UID, id=id_, body=body))


async def test_dependents_are_deleted_first(clouds: MemoryClouds) -> None:
    network = await make(clouds, "network")
    subnet = await make(clouds, "subnet", network_id=network)
    router = await make(clouds, "router")
    group = await make(clouds, "security-group")
    port = await make(clouds, "port", network_id=network, security_groups=[group])
    await change(clouds, "router", router, add_interface=port)
    held = [("network", network), ("subnet", subnet), ("router", router), ("security-group", group)]
    for what, id_ in held:
        with pytest.raises(TransientCloudError, match=port):
            await remove(clouds, what, id_)
    for what, id_ in [("port", port), *reversed(held)]:
        await remove(clouds, what, id_)
    assert clouds.all() == []


async def test_a_floating_ip_needs_a_route_and_blocks_its_removal(clouds: MemoryClouds) -> None:
    network, outside = await make(clouds, "network"), await make(clouds, "network")
    inside = await make(clouds, "port", network_id=network)
    address = await make(clouds, "floating-ip", floating_network_id=outside)
    with pytest.raises(TransientCloudError, match="no router leads"):
        await change(clouds, "floating-ip", address, port_id=inside)
    router = await make(clouds, "router")
    interface = await make(clouds, "port", network_id=network)
    await change(clouds, "router", router, add_interface=interface)
    await change(clouds, "floating-ip", address, port_id=inside)
    with pytest.raises(TransientCloudError, match=address):
        await remove(clouds, "port", interface)
    await remove(clouds, "port", inside)
    assert clouds.things["floating-ip", address].facts["port_id"] is None
    await remove(clouds, "port", interface)


async def test_referenced_resources_must_exist(clouds: MemoryClouds) -> None:
    for what, body in (
        ("subnet", {"network_id": "x"}),
        ("port", {"network_id": "x"}),
        ("security-group-rule", {"security_group_id": "x"}),
        ("floating-ip", {"floating_network_id": "x"}),
    ):
        with pytest.raises(TransientCloudError, match="x"):
            await make(clouds, what, **body)


async def test_a_group_has_two_initial_rules_without_duplicates_and_deletes_them(clouds: MemoryClouds) -> None:
    group, other = await make(clouds, "security-group"), await make(clouds, "security-group")
    rule = {"security_group_id": group, "direction": "egress", "ethertype": "IPv4"}
    assert await make(clouds, "security-group-rule", **rule) in {t.id for t in clouds.all("security-group-rule")}
    assert len(clouds.all("security-group-rule")) == 4
    anywhere = {**rule, "remote_ip_prefix": "0.0.0.0/0"}
    assert await make(clouds, "security-group-rule", **anywhere) == await make(clouds, "security-group-rule", **rule)
    await make(clouds, "security-group-rule", **{**rule, "security_group_id": other, "remote_group_id": group})
    await remove(clouds, "security-group", group)
    assert {t.facts["security_group_id"] for t in clouds.all("security-group-rule")} == {other}
    assert len(clouds.all("security-group-rule")) == 2
