"""Reads a server object, its cloud, its resources there, and the resolved names of its spec.

Errors of a cloud become a value, `failure`. All servers of a project share its lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.infra.machine import OpenStackMachine
from stackwright.api.infra.server import OpenStackServer
from stackwright.controllers.infra.cloud_observation import CloudObservation
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, IMAGE, claim_name, is_of_pool, owner_named
from stackwright.controllers.infra.managed_resources import Record, is_gone
from stackwright.controllers.infra.managed_resources import record_of as pool_record_of
from stackwright.controllers.infra.observe import observe_cloud, viewing
from stackwright.controllers.infra.origin import identity
from stackwright.controllers.infra.reads import cluster_of, cluster_referring, get_if_served, origin_of
from stackwright.controllers.infra.resolve_references import resolve_references
from stackwright.controllers.server.adopt import SHARED, Adoption, adopt
from stackwright.controllers.server.objects import parts, types
from stackwright.controllers.server.record import record_of
from stackwright.controllers.server.resolve import Resolved, resolve
from stackwright.core.objects import OWNER, is_deleting, key_of, label, owner_label
from stackwright.core.openstack.clouds import Clouds, Subscription, query
from stackwright.core.openstack.resources import SERVER_KEY, CloudRef, ResourceType, ids, marked_by
from stackwright.core.pausing import cluster_api_cause
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader

NAME = "server"
KINDS: tuple[ResourceType, ...] = ("server", "port", "trunk", "volume")
KIND = OpenStackServer.KIND


@dataclass(frozen=True)
class Pool:
    """claim    the claim of a floating IP, if it exists
    address  the assigned address, and its id in this cloud; empty while unknown
    identity  the mark of the pool's own floating IPs;  record  the pool's record; both empty without a pool
    """

    claim: Object | None = None
    address: str = ""
    id: str = ""
    identity: str = ""
    record: Record = field(default_factory=dict)


@dataclass(frozen=True)
class Observed(CloudObservation):
    """resolved  resolved names of the spec; None if they are in the status already
    pool      the floating IP from a pool
    known     id of the server in the machine's providerID; empty without one
    adoption  result for an unmarked server: that one without a record, or a recorded one if the record is incomplete
    """

    resolved: Resolved | None = None
    pool: Pool = Pool()
    known: str = ""
    adoption: Adoption | None = None


async def observe(clouds: Clouds, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(KIND, key)
    if obj is None:
        return None
    spec, errors = OpenStackServer.parsed(obj)
    seen = Observed(obj, now, spec, tuple(errors), paused=await _paused(reader, obj))
    steps = (partial(_pooled, clouds, reader), viewing(clouds, _asker, record_of), partial(_resolved, clouds, reader))
    return await observe_cloud(seen, clouds, reader, NAME, *steps)


async def _pooled(clouds: Clouds, reader: Reader, seen: Observed, cloud: CloudRef) -> Observed:
    """Adds the server id of the machine, and the floating IP from a pool."""
    seen = replace(seen, known=await _known(reader, seen.obj))
    if is_deleting(seen.obj) or not (reference := seen.spec.get("floatingIPPoolRef")):
        return seen
    return replace(seen, pool=await _pool(clouds, cloud, reader, seen.obj, reference))


async def _resolved(clouds: Clouds, reader: Reader, seen: Observed, cloud: CloudRef) -> Observed:
    """Adds the resolved names of the spec; or, if the status has them, the adoption of a server without a mark."""
    if is_deleting(seen.obj):
        return seen
    if resolved := seen.status.get("resolved"):
        return await _adopting(clouds, seen, cloud, resolved)
    namespace, name = key_of(seen.obj)
    images = await _images(seen.spec, namespace, reader)
    return replace(seen, resolved=await resolve_references(clouds, cloud, partial(resolve, name, seen.spec, images)))


async def _paused(reader: Reader, obj: Object) -> str:
    """The cause of a pause by its own annotation, its machine or cluster, or Cluster API's Cluster."""
    namespace, _ = key_of(obj)
    named = ((kind, owner_named(obj, kind)) for kind in (OpenStackMachine.KIND, OpenStackCluster.KIND))
    owners = [await reader.get(kind, (namespace, name)) for kind, name in named if name]
    clusters = [owner for owner in owners if owner and owner["kind"] == OpenStackCluster.KIND.kind]
    top = await cluster_referring(reader, clusters[0]) if clusters else await cluster_of(reader, obj)
    return cluster_api_cause(obj, top, *owners)


async def _known(reader: Reader, obj: Object) -> str:
    """The server id of the machine of the same name, which may be older than this object."""
    machine = await reader.get(OpenStackMachine.KIND, key_of(obj))
    if machine is None or label(obj, OWNER) != owner_label(machine):
        return ""
    return str(machine["spec"].get("instanceID") or machine["spec"].get("providerID") or "").rsplit("/", 1)[-1]


async def _adopting(clouds: Clouds, seen: Observed, cloud: CloudRef, resolved: Mapping[str, Any]) -> Observed:
    assert seen.view is not None
    key = key_of(seen.obj)
    wanted = list(parts(key, seen.spec, resolved))
    slots = [part.resource_key for part in wanted]
    record = record_of(seen.status, slots)
    server = seen.view.get(SERVER_KEY, record.get(SERVER_KEY, seen.known))
    if server is None or is_gone(server) or marked_by(server, seen.identity) or record.keys() >= set(slots):
        return seen
    if cloud.secret[0] != key[0] and SERVER_KEY not in record:
        return replace(seen, adoption=Adoption(problem=SHARED))
    found = await resolve_references(clouds, cloud, partial(adopt, key[1], seen.spec, wanted, server, record))
    return replace(seen, adoption=found)


def kinds_of(seen: Observed, record: Record) -> tuple[ResourceType, ...]:
    """The types of resources that the server may have: an outage of a service that it does not use has no effect.

    These are all types if the spec is invalid, or if a deletion finds no status: the resources may be those of an
    object with another spec, from which this one was restored.
    """
    resolved = seen.status.get("resolved")
    if seen.errors or (is_deleting(seen.obj) and not resolved):
        return KINDS
    needed = types(seen.spec, resolved or {}) | {what for what, _ in record}
    return tuple(what for what in KINDS if what in needed)


def _asker(seen: Observed) -> Subscription:
    status = seen.status
    waits = is_deleting(seen.obj) or not status.get("ready")
    pooled = {("floating-ip", seen.pool.id)} if seen.pool.id else set()
    record = record_of(status)
    sought = {SERVER_KEY: seen.known} if seen.known and SERVER_KEY not in record else {}
    known = ids({**sought, **record}.items()) | pooled
    kinds = (*kinds_of(seen, record), "floating-ip") if pooled else kinds_of(seen, record)
    begun = seen.begun or bool(seen.known)  # the machine had a server before
    return Subscription(NAME, key_of(seen.obj), seen.identity, kinds, known, waits, begun, moved=seen.moved)


async def _pool(clouds: Clouds, cloud: CloudRef, reader: Reader, obj: Object, reference: Object) -> Pool:
    """The result of the claim, which the controller of the pool serves. An IPAddress with the name of the claim may be
    that of another pool.
    """
    key = (obj["metadata"]["namespace"], claim_name(obj))
    claim = await get_if_served(reader, CLAIM, key)
    claimed = await get_if_served(reader, ADDRESS, key) if claim else None
    spec = claimed["spec"] if claimed and is_of_pool(claimed, reference) else {}
    address = str(spec.get("address") or "") if (spec.get("claimRef") or {}).get("name") == key[1] else ""
    if not address:
        return Pool(claim)
    found = await clouds.find(cloud, query("floating-ip", floating_ip_address=address))
    pool = await reader.get(OpenStackFloatingIPPool.KIND, (key[0], reference["name"]))
    made = pool_record_of((pool or {}).get("status") or {})
    marked = identity(pool, await origin_of(reader, pool)) if pool else ""
    return Pool(claim, address, found[0].id if found else "", marked, made)


async def _images(spec: Mapping[str, Any], namespace: str, reader: Reader) -> dict[str, str]:
    """Name → id of an Image object of the openstack-resource-controller; empty while it has no id."""
    reference = (spec.get("image") or {}).get("imageRef")
    if not reference:
        return {}
    found = await get_if_served(reader, IMAGE, (namespace, reference["name"]))
    id_ = ((found or {}).get("status") or {}).get("id")
    return {reference["name"]: str(id_)} if id_ else {}
