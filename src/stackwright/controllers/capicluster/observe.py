"""Reads a cluster, its cloud, its machines, and the servers of the machines and the bastion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.machine import OpenStackMachine
from stackwright.controllers.capicluster.resolve import Found, resolve
from stackwright.controllers.infra.clusterapi import NAME as CLUSTER_NAME
from stackwright.controllers.infra.clusterapi import cluster_name, is_managed_elsewhere
from stackwright.controllers.infra.managed_resources import record_of
from stackwright.controllers.infra.observe import ReferencesObservation, observe_cloud, resolving, viewing
from stackwright.controllers.infra.origin import is_restored
from stackwright.controllers.infra.reads import cluster_referring
from stackwright.controllers.infra.server_template import SERVER_KIND
from stackwright.core.conditions import is_ready
from stackwright.core.objects import belongs, is_deleting
from stackwright.core.openstack.clouds import Clouds, Subscription
from stackwright.core.openstack.resources import ResourceType, ids
from stackwright.core.pausing import cluster_api_cause
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader

NAME = "capicluster"
KIND = OpenStackCluster.KIND
MACHINE = OpenStackMachine.KIND
KINDS: tuple[ResourceType, ...] = (
    "network", "subnet", "router", "port", "security-group", "security-group-rule", "floating-ip",
)  # fmt: skip


@dataclass(frozen=True)
class Observed(ReferencesObservation):
    """machines  of this cluster;  servers  name → OpenStackServer, of the machines and with the name of the bastion"""

    found: Found | None = None
    machines: tuple[Object, ...] = ()
    servers: Mapping[str, Object] = field(default_factory=dict)

    @property
    def uid(self) -> str:
        return str(self.obj["metadata"]["uid"])

    @property
    def bastion_name(self) -> str:
        return f"{self.obj['metadata']['name']}-bastion"

    @property
    def bastion(self) -> Object | None:
        """The OpenStackServer of the bastion, if it exists and belongs to this cluster."""
        found = self.servers.get(self.bastion_name)
        return found if belongs(found, self.uid) or is_restored(found, self.obj) else None


async def observe(clouds: Clouds, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(KIND, key)
    if obj is None:
        return None
    spec, errors = OpenStackCluster.parsed(obj)
    if is_managed_elsewhere(obj) and not is_deleting(obj):
        return Observed(obj, now, spec, tuple(errors))
    paused = cluster_api_cause(obj, await cluster_referring(reader, obj))
    seen = await _with_servers(Observed(obj, now, spec, tuple(errors), paused), reader)
    steps = (resolving(clouds, resolve), viewing(clouds, _asker, record_of))
    return await observe_cloud(seen, clouds, reader, NAME, *steps)


async def _with_servers(seen: Observed, reader: Reader) -> Observed:
    namespace, labels = seen.obj["metadata"]["namespace"], {CLUSTER_NAME: cluster_name(seen.obj)}
    machines = await reader.list(MACHINE, namespace, labels)
    servers = {each["metadata"]["name"]: each for each in await reader.list(SERVER_KIND, namespace, labels)}
    if other := await reader.get(SERVER_KIND, (namespace, seen.bastion_name)):
        servers[seen.bastion_name] = other
    machines.sort(key=lambda each: str(each["metadata"]["name"]))
    return replace(seen, machines=tuple(machines), servers=servers)


def _asker(seen: Observed) -> Subscription:
    """The subscription includes floating IPs that the user named, which have no mark."""
    meta = seen.obj["metadata"]
    given = {("floating-ip", thing.id) for thing in (seen.found.addresses if seen.found else {}).values()}
    waits = is_deleting(seen.obj) or not is_ready(seen.obj)
    known = ids(record_of(seen.status).items()) | given
    return Subscription(
        NAME, (meta["namespace"], meta["name"]), seen.identity, KINDS, known, waits, seen.begun, moved=seen.moved
    )
