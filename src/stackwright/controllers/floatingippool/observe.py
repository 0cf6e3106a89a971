"""Reads a pool, its claims, their IPAddresses, and the pool's floating IPs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, claim_name, is_of_pool
from stackwright.controllers.infra.clusterapi import NAME as NAME_LABEL
from stackwright.controllers.infra.managed_resources import record_of
from stackwright.controllers.infra.observe import ReferencesObservation, observe_cloud, resolving, viewing
from stackwright.controllers.infra.reads import cluster_of, list_if_served
from stackwright.controllers.infra.references import Answers, Resolver, status_entry
from stackwright.controllers.infra.server_template import SERVER_KIND
from stackwright.core.conditions import is_ready
from stackwright.core.objects import is_deleting, label
from stackwright.core.openstack.clouds import Clouds, Query, Subscription, query
from stackwright.core.openstack.resources import CloudResource, ResourceType, ids
from stackwright.core.pausing import CLUSTER_API, cluster_api_cause
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader

NAME = "floatingippool"
KIND = OpenStackFloatingIPPool.KIND
KINDS: tuple[ResourceType, ...] = ("floating-ip",)


@dataclass(frozen=True)
class Found:
    """network  the external network, as in the status;  given  existing floating IPs of the spec, by address"""

    network: Mapping[str, Any]
    given: Mapping[str, CloudResource]
    missing: tuple[Query, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Observed(ReferencesObservation):
    """claims  None if Cluster API's kinds are not installed;  addresses  IPAddresses of this pool
    taken   addresses of all IPAddresses of the namespace, including those of other pools
    doubled names of this pool's IPAddresses with the same address as an older IPAddress of the namespace, for example
            because two pools that share a user's floating IP assigned it at the same time
    held    names of claims and IPAddresses of paused clusters
    foreign name of a claim → pool of the IPAddress that has its name and is not of this pool
    ports   name of a claim → recorded port ids of its server; empty if no claim needs them
    """

    claims: tuple[Object, ...] | None = None
    addresses: tuple[Object, ...] = ()
    taken: frozenset[str] = frozenset()
    doubled: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    foreign: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    found: Found = field(default_factory=lambda: Found({}, {}))

    @property
    def waiting(self) -> list[Object]:
        """Claims without an address, the oldest first."""
        served = {each["metadata"]["name"] for each in self.addresses}
        others = served | self.held | self.foreign.keys()
        new = [c for c in self.claims or () if c["metadata"]["name"] not in others and not is_deleting(c)]
        return sorted(new, key=_age)


async def observe(clouds: Clouds, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(KIND, key)
    if obj is None:
        return None
    spec, errors = OpenStackFloatingIPPool.parsed(obj)
    seen = Observed(obj, now, spec, tuple(errors), paused=cluster_api_cause(obj, await cluster_of(reader, obj)))
    claims = await list_if_served(reader, CLAIM, key[0])
    if claims is not None:
        every = await list_if_served(reader, ADDRESS, key[0]) or ()
        taken = frozenset(str(each["spec"]["address"]) for each in every)
        seen = replace(seen, claims=_of_pool(claims, key[1]), addresses=_of_pool(every, key[1]), taken=taken)
        seen = replace(seen, doubled=_doubled(every) & {each["metadata"]["name"] for each in seen.addresses})
        seen = replace(seen, held=await _held(reader, (*(seen.claims or ()), *seen.addresses)))
        seen = replace(seen, foreign=_foreign(every, seen))
        seen = replace(
            seen, ports=_ports(await reader.list(SERVER_KIND, key[0])) if seen.waiting or seen.doubled else {}
        )
    steps = (resolving(clouds, _resolve), viewing(clouds, _asker, record_of))
    return await observe_cloud(seen, clouds, reader, NAME, *steps)


def _foreign(addresses: Iterable[Object], seen: Observed) -> dict[str, str]:
    pools = {each["metadata"]["name"]: each["spec"].get("poolRef") or {} for each in addresses}
    unserved = (claim["metadata"]["name"] for claim in seen.waiting)
    return {name: f"{pools[name].get('kind')} {pools[name].get('name')}" for name in unserved if name in pools}


def _doubled(addresses: Iterable[Object]) -> frozenset[str]:
    first: dict[str, str] = {}
    for each in sorted(addresses, key=_age):
        first.setdefault(str(each["spec"]["address"]), each["metadata"]["name"])
    return frozenset(each["metadata"]["name"] for each in addresses) - frozenset(first.values())


def _age(obj: Object) -> tuple[str, str]:
    """Sort key: the oldest first."""
    return str(obj["metadata"].get("creationTimestamp")), str(obj["metadata"]["name"])


def _ports(servers: Iterable[Object]) -> dict[str, frozenset[str]]:
    found = ((claim_name(each), (each.get("status") or {}).get("resources") or {}) for each in servers)
    return {name: frozenset(str(port["id"]) for port in resources.get("ports") or ()) for name, resources in found}


async def _held(reader: Reader, objects: tuple[Object, ...]) -> frozenset[str]:
    tops = {label(each, NAME_LABEL): each for each in objects if label(each, NAME_LABEL)}
    paused = {
        name for name, each in tops.items() if cluster_api_cause({"metadata": {}}, await cluster_of(reader, each))
    }
    return frozenset(
        str(each["metadata"]["name"])
        for each in objects
        if CLUSTER_API.is_set(each) or label(each, NAME_LABEL) in paused
    )


def _of_pool(objects: Iterable[Object], pool: str) -> tuple[Object, ...]:
    return tuple(each for each in objects if is_of_pool(each, {"kind": KIND.kind, "name": pool}))


def _resolve(spec: Mapping[str, Any], status: Mapping[str, Any], answers: Answers) -> Found:
    resolver = Resolver(answers)
    network = status.get("floatingIPNetwork")
    if not network and (found := resolver.external_network(spec.get("floatingIPNetwork"), "spec.floatingIPNetwork")):
        network = status_entry(found)
    given = {}
    for address in spec.get("preAllocatedFloatingIPs") or ():
        if there := resolver.matches(query("floating-ip", floating_ip_address=address)):
            given[str(address)] = there[0]
    return Found(network or {}, given, tuple(resolver.missing), tuple(resolver.problems))


def _asker(seen: Observed) -> Subscription:
    meta = seen.obj["metadata"]
    waits = is_deleting(seen.obj) or not is_ready(seen.obj) or bool(seen.waiting)
    serves = frozenset(str(claim["metadata"]["uid"]) for claim in seen.waiting)
    known = ids(record_of(seen.status).items()) | {(t.type, t.id) for t in seen.found.given.values()}
    key = (meta["namespace"], meta["name"])
    return Subscription(NAME, key, seen.identity, KINDS, known, waits, seen.begun, serves, seen.moved)
