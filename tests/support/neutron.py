"""Constraints and side effects of Neutron for resources in memory, so that a wrong order of requests fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from stackwright.core.openstack.group_rules import meaning
from stackwright.core.openstack.resource_types import TYPES, dependents
from stackwright.core.openstack.resources import CloudResource

Things = Mapping[tuple[str, str], CloudResource]
INTERFACE = "network:router_interface"


def _of(things: Things, what: str) -> Iterator[CloudResource]:
    return (thing for thing in things.values() if thing.type == what)


def _named(facts: Mapping[str, Any], what: str) -> Iterator[tuple[str, str]]:
    """Type and id of each resource to which the fields of this resource refer."""
    for path, needed in TYPES[what].needs.items():
        name, _, part = path.partition(".")
        value = facts.get(name) or ()
        every: Iterable[Any] = [value] if isinstance(value, str) else value
        yield from ((needed, id_) for each in every if (id_ := each.get(part) if part else each))


def lacking(things: Things, what: str, body: Mapping[str, Any]) -> str:
    """Missing references of a create request, as text; empty if none."""
    wanted = [*_named(body, what), *(("port", each["port"]) for each in body.get("networks") or ())]
    return ", ".join(f"there is no {kind} {id_}" for kind, id_ in wanted if (kind, id_) not in things)


def contained(things: Things, key: tuple[str, str]) -> list[CloudResource]:
    """Resources that are deleted with this one: those that belong to it, or refer to it and belong to another one."""
    parts = dependents(key[0], "parent")
    return [t for t in things.values() if t.type in parts and key in _named(t.facts, t.type)]


def held(things: Things, thing: CloudResource) -> str:
    """Resources that prevent the deletion of a resource, as text; empty if none."""
    parts, key = dependents(thing.type, "parent"), (thing.type, thing.id)
    users = [t for t in things.values() if t.type not in parts and key in _named(t.facts, t.type)]
    users += _HOLDERS[thing.type](things, thing) if thing.type in _HOLDERS else ()
    return ", ".join(sorted(f"{user.type} {user.id} needs it" for user in users))


def _of_port(things: Things, port: CloudResource) -> Iterator[CloudResource]:
    """For the interface of a router, the floating IPs that use it. The port of a server can be deleted."""
    if port.facts.get("device_owner") == INTERFACE:
        network = port.facts["network_id"]
        yield from (f for f in _of(things, "floating-ip") if _network(things, f) == network)


def _network(things: Things, address: CloudResource) -> Any:
    """The network of the port to which a floating IP is assigned."""
    port = things.get(("port", address.facts.get("port_id") or ""))
    return port.facts.get("network_id") if port else None


def _of_router(things: Things, router: CloudResource) -> Iterator[CloudResource]:
    return (t for t in _of(things, "port") if t.facts.get("device_id") == router.id)


_HOLDERS = {"port": _of_port, "router": _of_router}


def same_rule(things: Things, body: Mapping[str, Any]) -> str:
    """The id of an equivalent rule, or empty; a group cannot hold two equivalent rules."""
    wanted = meaning(body)
    return next((t.id for t in _of(things, "security-group-rule") if meaning(t.facts) == wanted), "")


def facts(things: Things, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that Neutron adds to a new resource."""
    match what:
        case "port":
            subnets = [t.id for t in _of(things, "subnet") if t.facts.get("network_id") == body.get("network_id")]
            given = body.get("fixed_ips") or [{"subnet_id": id_} for id_ in subnets]
            return {"status": "DOWN", "fixed_ips": given, **TYPES[what].detached}
        case "floating-ip":
            taken = {thing.facts.get("floating_ip_address") for thing in _of(things, what)}
            free = (each for n in count(len(taken) + 1) if (each := f"192.0.2.{n}") not in taken)
            return {"floating_ip_address": next(free), **TYPES[what].detached}
        case "router" if gateway := body.get("external_gateway_info"):
            addresses = gateway.get("external_fixed_ips") or [{"ip_address": "192.0.2.254"}]
            return {"external_gateway_info": {**gateway, "external_fixed_ips": addresses}}
    return {}


def unroutable(things: Things, port_id: str) -> str:
    """The reason why a floating IP cannot be assigned to a port; empty if it can."""
    port = things.get(("port", port_id))
    if port is None:
        return f"there is no port {port_id}"
    for other in _of(things, "port"):
        if other.facts.get("device_owner") == INTERFACE and other.facts["network_id"] == port.facts.get("network_id"):
            return ""
    return f"no router leads to port {port_id}"
