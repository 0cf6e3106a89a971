"""A simulated world with an OpenStack for clusters of Cluster API, and actions of users and of Cluster API."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.machine import OpenStackMachine
from stackwright.api.infra.server import OpenStackServer
from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, CLUSTER, CONTROL_PLANE, MACHINE, NAME
from stackwright.core.conditions import find
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.openstack.resources import CloudResource
from stackwright.core.plan import Object
from stackwright.forecast.simulate import Outside
from stackwright.runtime.memory.shape import schema_of, with_defaults
from support.faults import Fuse
from sweep import sampled
from tests.scenario.world import NAMESPACE, World

SERVERS, MACHINES, CLUSTERS = OpenStackServer.KIND, OpenStackMachine.KIND, OpenStackCluster.KIND
IDENTITY = {"type": "Secret", "name": "clouds", "cloudName": "mine"}
PART: Object = {"flavor": "small", "image": {"filter": {"name": "debian"}}, "sshKeyName": "me"}
MANAGED: Object = {
    "identityRef": IDENTITY,
    "managedSubnets": [{"cidr": "10.6.0.0/24", "dnsNameservers": ["10.0.0.2"]}],
    "managedSecurityGroups": {"allowAllInClusterTraffic": True},
}
BASTION: Object = {"enabled": True, "spec": PART}
IN_CLOUD = "in cloud mine of Secret openstack/clouds"
# The resources of such a cluster, and of a cluster with a bastion.
NETWORK = [
    "floating-ip",
    "network k8s-clusterapi-cluster-openstack-c",
    "port k8s-clusterapi-cluster-openstack-c-router",
    "router k8s-clusterapi-cluster-openstack-c",
    "security-group k8s-clusterapi-cluster-openstack-c-secgroup-controlplane",
    "security-group k8s-clusterapi-cluster-openstack-c-secgroup-worker",
    "subnet k8s-clusterapi-cluster-openstack-c",
]
GUARDED = sorted([
    *NETWORK, "floating-ip", "port c-bastion-0", "server c-bastion",
    "security-group k8s-clusterapi-cluster-openstack-c-secgroup-bastion",
])  # fmt: skip
MADE = ("server", "port", "trunk", "volume", "network", "subnet", "router", "security-group", "floating-ip")


def asking(monkeypatch: pytest.MonkeyPatch, clouds: Clouds) -> None:
    """Give commands access to this OpenStack."""

    @asynccontextmanager
    async def outside(*_: Any) -> AsyncIterator[Outside]:
        yield Outside(None, clouds)

    monkeypatch.setattr("stackwright.cli.foresee.external_systems", outside)


class Clusters(World):
    """core  whether Cluster API itself is installed"""

    def __init__(self, *, core: bool = False, **more: Any) -> None:
        super().__init__(**more)
        self.cluster.unserved = set() if core else {CLUSTER, MACHINE, CLAIM, ADDRESS}
        self.clouds.put("image", "debian")
        self.clouds.put("flavor", "small")
        self.external = self.clouds.put("network", "public", **{"router:external": True})
        self.foreign = {thing.id for thing in self.clouds.all()}

    def again(self, now: float | None = None) -> Clusters:
        other = super().again(now)
        assert isinstance(other, Clusters)
        other.foreign = set(self.foreign)
        return other

    def foreigner(self, what: str, name: str = "", **facts: Any) -> CloudResource:
        """An existing resource that must remain."""
        thing = self.clouds.put(what, name, **facts)
        self.foreign.add(thing.id)
        return thing

    def write(self, kind: Kind, name: str, spec: Object, **meta: Any) -> None:
        before = self.get(kind, name) or {"metadata": {"name": name, "namespace": NAMESPACE}}
        self.cluster.put(kind, {**before, "metadata": {**before["metadata"], **meta}, "spec": copy.deepcopy(spec)})

    def smuggle(self, kind: Kind, name: str, spec: Object) -> None:
        """Store a spec that the API server refuses, as an earlier version may have."""
        obj: Any = self.get(kind, name)
        obj["metadata"]["generation"] += 1
        wrong = with_defaults(schema_of(kind), {**obj, "spec": copy.deepcopy(spec)})
        self.cluster._put(kind, (NAMESPACE, name), wrong, "MODIFIED")

    def make(self, name: str = "c", **spec: Any) -> None:
        """Write a cluster as its user does; fields that the operator wrote to the spec remain."""
        before = (self.get(CLUSTERS, name) or {}).get("spec") or {}
        kept = {key: before[key] for key in ("controlPlaneEndpoint",) if key in before}
        self.write(CLUSTERS, name, {**MANAGED, **kept, **spec})

    def machine(self, name: str = "m", *, cluster: str = "c", control_plane: bool = False, **spec: Any) -> None:
        """Write a machine as its user does; its providerID remains."""
        labels = {NAME: cluster, **({CONTROL_PLANE: ""} if control_plane else {})}
        before = (self.get(MACHINES, name) or {}).get("spec") or {}
        kept = {key: before[key] for key in ("providerID",) if key in before}
        self.write(MACHINES, name, {**PART, **kept, **spec}, labels=labels)

    def status(self, kind: Kind = CLUSTERS, name: str = "c") -> Object:
        return dict((self.get(kind, name) or {}).get("status") or {})

    def told(self, type_: str = "Ready", kind: Kind = CLUSTERS, name: str = "c") -> tuple[str, str]:
        entry = find(self.get(kind, name), type_) or {}
        return str(entry.get("reason")), str(entry.get("message"))

    def there(self) -> list[str]:
        """The resources in the cloud that did not exist at the beginning."""
        found = [t for t in self.clouds.all() if t.type in MADE and t.id not in self.foreign]
        return sorted(f"{t.type} {t.name}".strip() for t in found)

    def one(self, what: str, name: str = "") -> CloudResource:
        found = [t for t in self.clouds.all(what) if t.id not in self.foreign and name in t.name]
        assert len(found) == 1, [t.name for t in found]
        return found[0]

    def rules(self, group: str) -> list[str]:
        """The rules of a group, in readable form."""
        (id_,) = [t.id for t in self.clouds.all("security-group") if t.name.endswith(f"-{group}")]
        return sorted(_said(self, t) for t in self.clouds.all("security-group-rule") if _in(t, id_))

    async def ready(self, kind: Kind = CLUSTERS, name: str = "c") -> None:
        await self.settle(patience=20)
        assert self.told(kind=kind, name=name)[0] == "Ready", self.told(kind=kind, name=name)


async def make_small(world: Clusters, **machine: Any) -> None:
    """A cluster with one machine, both ready."""
    world.make()
    await world.ready()
    world.machine(**machine)
    await world.ready(MACHINES, "m")


def _in(rule: CloudResource, group: str) -> bool:
    return bool(rule.facts["security_group_id"] == group)


def _said(world: Clusters, rule: CloudResource) -> str:
    facts = rule.facts
    names = {t.id: t.name.rsplit("-", 1)[-1] for t in world.clouds.all("security-group")}
    ports = f"{facts['port_range_min']}-{facts['port_range_max']}" if facts.get("port_range_min") else "all"
    remote = names.get(facts.get("remote_group_id") or "") or facts.get("remote_ip_prefix") or "anywhere"
    return f"{facts['direction']} {facts['ethertype']} {facts.get('protocol') or 'any'} {ports} {remote}"


class Moments(Fuse):
    """Copies of the world before the first write and after each write: the state after a kill at that moment.

    The state after one write is that before the next, so each copy also simulates a crash before a write.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.worlds = world, list[Any]()

    async def write(self, what: Any) -> Any:
        if not self.worlds:
            self.worlds.append(self.world.again())
        result = await super().write(what)
        self.worlds.append(self.world.again())
        return result


async def killed_everywhere(
    start: Callable[[], Any], act: Callable[[Any], None], end: Any, *, seconds: float = 0
) -> None:
    """Simulate a crash at each write that follows `act`; a commit tries a sample. `end` checks the result.

    seconds  limit of each run, for objects that never settle
    """
    world = await start()
    await world.stop()
    moments = Moments(world)
    await world.start(moments)
    act(world)
    await _on(world, seconds)
    await world.stop()
    assert len(moments.worlds) > 2
    for each in sampled(moments.worlds):
        await _on(each, seconds)
        await end(each)
        await each.stop()


async def unheard_everywhere(
    start: Callable[[], Any], act: Callable[[Any], None], end: Any, *, then: Any = None, seconds: float = 0
) -> None:
    """Simulate a crash at each request that follows `act`; the request takes effect LATE seconds later. `then` is a
    later action of a user.
    """
    world = await start()
    await world.stop()
    moments: list[tuple[Any, CloudCall]] = []
    world.clouds.hears = lambda call: moments.append((world.again(), call))
    await world.start()
    act(world)
    await _on(world, seconds)
    await world.stop()
    assert moments
    for each, call in sampled(moments):
        await each.start()
        each.clouds.late(call)
        if then:
            then(each)
        await _on(each, seconds)
        await end(each)
        await each.stop()


async def lost_everywhere(
    start: Callable[[], Any], act: Callable[[Any], None], end: Any, *, seconds: float = 0
) -> None:
    """Each request after `act` gets no response, and takes effect LATE seconds later."""
    first = await start()
    await first.stop()
    for number in sampled(range(1, 200)):
        world = first.again()
        world.clouds.lost = len(world.clouds.calls) + number
        await world.start()
        act(world)
        await _on(world, seconds)
        last, world.clouds.lost = len(world.clouds.calls) < world.clouds.lost, 0
        await end(world)
        await world.stop()
        if last:
            return
    raise AssertionError("no end")


async def _on(world: World, seconds: float) -> None:
    await (world.run(seconds) if seconds else world.settle(patience=20))
