"""Constraints and side effects of Neutron for resources in memory, so that a wrong order of requests fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from stackwright.core.openstack.clouds import Thing
from stackwright.core.openstack.group_rules import meaning

Things = Mapping[tuple[str, str], Thing]
INTERFACE = "network:router_interface"
# Facts of an unused resource.
FREE: Mapping[str, Mapping[str, Any]] = {"port": {"device_id": ""}, "floating-ip": {"port_id": None}}
# Type → required references: field of the request, and type of the referenced resource.
NEEDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "port": (("network_id", "network"),),
    "subnet": (("network_id", "network"),),
    "floating-ip": (("floating_network_id", "network"),),
    "security-group-rule": (("security_group_id", "security-group"), ("remote_group_id", "security-group")),
}


def _of(things: Things, what: str) -> Iterator[Thing]:
    return (thing for thing in things.values() if thing.what == what)


def lacking(things: Things, what: str, body: Mapping[str, Any]) -> str:
    """Missing references of a create request, as text; empty if none."""
    wanted = [(kind, body[field]) for field, kind in NEEDS.get(what, ()) if body.get(field)]
    wanted += [("subnet", each["subnet_id"]) for each in body.get("fixed_ips") or () if each.get("subnet_id")]
    wanted += [("security-group", each) for each in body.get("security_groups") or ()]
    wanted += [("port", each["port"]) for each in body.get("networks") or ()]
    return ", ".join(f"there is no {kind} {id_}" for kind, id_ in wanted if (kind, id_) not in things)


def held(things: Things, thing: Thing) -> str:
    """Resources that prevent the deletion of a resource, as text; empty if none."""
    return ", ".join(sorted(_HOLDERS[thing.what](things, thing))) if thing.what in _HOLDERS else ""


def _of_port(things: Things, port: Thing) -> Iterator[str]:
    if ("server", port.facts.get("device_id")) in things:
        yield f"server {port.facts['device_id']} uses it"
    yield from (f"trunk {t.id} has it" for t in _of(things, "trunk") if t.facts.get("port_id") == port.id)
    if port.facts.get("device_owner") == INTERFACE:
        network = port.facts["network_id"]
        yield from (
            f"floating-ip {f.id} needs it" for f in _of(things, "floating-ip") if _network(things, f) == network
        )


def _network(things: Things, address: Thing) -> Any:
    """The network of the port to which a floating IP is assigned."""
    port = things.get(("port", address.facts.get("port_id") or ""))
    return port.facts.get("network_id") if port else None


def _of_network(things: Things, network: Thing) -> Iterator[str]:
    for what in ("port", "subnet"):
        yield from (f"{what} {t.id} is in it" for t in _of(things, what) if t.facts.get("network_id") == network.id)


def _of_subnet(things: Things, subnet: Thing) -> Iterator[str]:
    for port in _of(things, "port"):
        if any(each.get("subnet_id") == subnet.id for each in port.facts.get("fixed_ips") or ()):
            yield f"port {port.id} has an address of it"


def _of_router(things: Things, router: Thing) -> Iterator[str]:
    return (f"port {t.id} is its interface" for t in _of(things, "port") if t.facts.get("device_id") == router.id)


def _of_group(things: Things, group: Thing) -> Iterator[str]:
    return (f"port {t.id} is in it" for t in _of(things, "port") if group.id in (t.facts.get("security_groups") or ()))


_HOLDERS = {
    "port": _of_port,
    "network": _of_network,
    "subnet": _of_subnet,
    "router": _of_router,
    "security-group": _of_group,
}


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
            return {"status": "DOWN", "fixed_ips": given, **FREE[what]}
        case "floating-ip":
            taken = {thing.facts.get("floating_ip_address") for thing in _of(things, what)}
            free = (each for n in count(len(taken) + 1) if (each := f"192.0.2.{n}") not in taken)
            return {"floating_ip_address": next(free), **FREE[what]}
        case "router" if gateway := body.get("external_gateway_info"):
            addresses = gateway.get("external_fixed_ips") or [{"ip_address": "192.0.2.254"}]
            return {"external_gateway_info": {**gateway, "external_fixed_ips": addresses}}
    return {}


def unroutable(things: Things, port_id: str) -> str:
    """Why a floating IP cannot be assigned to a port; empty if it can."""
    port = things.get(("port", port_id))
    if port is None:
        return f"there is no port {port_id}"
    for other in _of(things, "port"):
        if other.facts.get("device_owner") == INTERFACE and other.facts["network_id"] == port.facts.get("network_id"):
            return ""
    return f"no router leads to port {port_id}"
