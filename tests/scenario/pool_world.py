"""A simulated world with pools of floating IPs, their claims, and a server that uses one."""

from __future__ import annotations

from typing import Any

from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM
from tests.scenario.capi_world import IDENTITY, PART, SERVERS, Clusters
from tests.scenario.world import NAMESPACE

POOLS = OpenStackFloatingIPPool.KIND


class Pools(Clusters):
    def __init__(self, **more: Any) -> None:
        super().__init__(**{"core": True, **more})

    def pool(self, name: str = "p", **spec: Any) -> None:
        self.write(POOLS, name, {"identityRef": IDENTITY, **spec})

    def claim(self, name: str, pool: str = "p") -> None:
        reference = {"apiGroup": POOLS.group, "kind": POOLS.kind, "name": pool}
        self.write(CLAIM, name, {"poolRef": reference})

    def server(self, name: str = "web") -> None:
        reference = {"kind": POOLS.kind, "name": "p"}
        ports = [{"network": {"filter": {"name": "inside"}}}]
        self.write(SERVERS, name, {**PART, "identityRef": IDENTITY, "ports": ports, "floatingIPPoolRef": reference})

    def served(self) -> dict[str, str]:
        """Claim → address."""
        found = {each["metadata"]["name"]: each["spec"]["address"] for each in self.cluster.all(ADDRESS, NAMESPACE)}
        for name in found:
            claim = self.get(CLAIM, name) or {}
            assert claim["status"]["addressRef"] == {"name": name}
        return found

    def ips(self) -> list[str]:
        return sorted(
            str(t.facts["floating_ip_address"]) for t in self.clouds.all("floating-ip") if t.id not in self.foreign
        )

    def told_of(self, name: str = "p") -> tuple[str, str]:
        return self.told(kind=POOLS, name=name)


async def pools(world: Pools | None = None, **spec: Any) -> Pools:
    world = world or Pools()
    world.pool(**spec)
    await world.run(20)
    return world


async def served(world: Pools | None = None, **more: Any) -> Pools:
    world = await pools(world, **more)
    network = world.foreigner("network", "inside")
    router = world.foreigner("router", "way")
    world.foreigner("port", "", network_id=network.id, device_id=router.id, device_owner="network:router_interface")
    world.server()
    await world.run(90)
    return world


async def gone(world: Pools) -> None:
    """Nothing remains in Kubernetes and in OpenStack."""
    await world.run(90)
    assert world.ips() == []
    assert not world.get(POOLS, "p") and not world.names(ADDRESS)
