"""Designate in a cloud: what it requests, that Neutron uses it, and what stays when it is removed."""

from __future__ import annotations

from typing import Any

from stackwright.api.kinds import SECRET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.core.objects import secret_data
from stackwright.services.designate.values import POWERDNS_KEY
from tests.scenario.world import World, ready_world

DNS = {"services": ["dns"]}


def neutron(world: World) -> dict[str, Any]:
    return dict(world.bundle("neutron")["spec"]["releases"][0]["values"]["conf"]["neutron"]["DEFAULT"])


async def test_it_is_ready_with_locks_databases_and_a_key_that_is_only_in_its_secret() -> None:
    world = await ready_world(features={**DNS, "designate": {"backend": {"name_servers": ["ns1.example.org"]}}})
    assert world.ready()
    assert {"designate", "powerdns"} <= {user for _, user in world.accounts.database.users}
    assert "designate" in world.accounts.identity.catalog
    assert {"coordination", "dns"} <= set(world.osdpl["status"]["services"])  # type: ignore[index]
    (key,) = secret_data(world.get(SECRET, POWERDNS_KEY)).values()
    releases = world.bundle("designate")["spec"]["releases"]
    assert [each["chart"] for each in releases] == ["designate", "powerdns"]
    assert releases[0]["values"]["conf"]["pool"] == {"ns_records": ["ns1.example.org."]}
    assert key and key not in str(releases)


async def test_neutron_publishes_names_as_long_as_the_cloud_has_the_service() -> None:
    world = await ready_world(whole=True, features=DNS)
    assert neutron(world)["external_dns_driver"] == "designate"
    world.cloud(whole=True)
    await world.settle()
    assert world.ready()
    assert "external_dns_driver" not in neutron(world)
    assert "designate" not in world.accounts.identity.catalog
    assert not world.get(HelmBundle.KIND, "openstack-designate")
    world.cloud(whole=True, features=DNS)
    await world.settle()
    assert world.ready()
    assert neutron(world)["external_dns_driver"] == "designate"
