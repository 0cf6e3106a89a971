"""Resolves names of existing resources of a cluster (networks, a router, floating IPs) to ids, once. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.controllers.infra.references import Answers, Resolver, status_entry
from stackwright.core.openstack.clouds import Query, complete_query, query
from stackwright.core.openstack.resources import CloudResource


@dataclass(frozen=True)
class Found:
    """names      status fields of existing resources that we did not create; None while unknown
    gateway    addresses of the router to create, in the format of Neutron's API
    addresses  floating IPs that the user named, by purpose: api, bastion
    lacking    unresolved names of the bastion; only the bastion waits for them
    """

    names: Mapping[str, Any] | None
    gateway: tuple[Mapping[str, Any], ...] = ()
    addresses: Mapping[str, CloudResource] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    missing: tuple[Query, ...] = ()
    problems: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


def resolve(spec: Mapping[str, Any], status: Mapping[str, Any], answers: Answers) -> Found:
    resolver, optional = Resolver(answers), Resolver(answers)
    external = status.get("externalNetwork") or _external(resolver, spec)
    names = {
        "externalNetwork": external,
        "network": _network(resolver, spec, status),
        "router": _router(resolver, spec, status),
    }
    made = any(each["type"] == "router" for each in status.get("resources") or ())
    gateway = [] if made else _gateway(resolver, spec, str((external or {}).get("id") or ""))
    addresses = {"api": _address(resolver, spec, "apiServer"), "bastion": _address(optional, spec, "bastion")}
    zones = optional.matches(complete_query("availability-zone")) or ()
    missing = (*resolver.missing, *optional.missing)
    return Found(
        None if missing or resolver.problems else {name: value for name, value in names.items() if value},
        tuple(gateway),
        {name: thing for name, thing in addresses.items() if thing},
        tuple(sorted(thing.name for thing in zones if thing.name and _serves(thing))),
        missing,
        tuple(resolver.problems),
        tuple(optional.problems),
    )


def _serves(zone: CloudResource) -> bool:
    return (zone.facts.get("zoneState") or {}).get("available") is not False


def subnet(thing: CloudResource) -> dict[str, Any]:
    return status_entry(thing, cidr=str(thing.facts.get("cidr") or ""))


def router(thing: CloudResource) -> dict[str, Any]:
    outside = (thing.facts.get("external_gateway_info") or {}).get("external_fixed_ips") or ()
    addresses = [str(each["ip_address"]) for each in outside if each.get("ip_address")]
    return status_entry(thing, **({"ips": addresses} if addresses else {}))


def _external(resolver: Resolver, spec: Mapping[str, Any]) -> dict[str, Any] | None:
    if spec.get("enableExternalNetwork") is False:
        return None
    found = resolver.external_network(spec.get("externalNetwork"), "spec.externalNetwork")
    return status_entry(found) if found else None


def _network(resolver: Resolver, spec: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The network and its subnets, in the order of the spec; None if the operator creates the network."""
    if spec.get("managedSubnets") or not (spec.get("network") or spec.get("subnets")):
        return None
    if status.get("network"):
        return dict(status["network"])
    network = resolver.find("network", spec["network"], "spec.network") if spec.get("network") else None
    if spec.get("network") and network is None:
        return None
    within = {"network_id": network.id} if network else {}
    given = spec.get("subnets") or ()
    found: list[CloudResource | None] = [
        resolver.find("subnet", p, f"spec.subnets[{i}]", **within) for i, p in enumerate(given)
    ]
    if network and not given:
        found = list(resolver.matches(complete_query("subnet", network_id=network.id)) or ())
    if network is None and found and found[0]:
        network = resolver.only_match(query("network", id=found[0].facts.get("network_id")), "spec.subnets[0]")
    if network is None or None in found:
        return None
    return status_entry(network, subnets=[subnet(each) for each in found if each])


def _router(resolver: Resolver, spec: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """An existing router; a router that the operator creates needs no query."""
    if not spec.get("router") or not spec.get("managedSubnets"):
        return None
    if status.get("router"):
        return dict(status["router"])
    found = resolver.find("router", spec["router"], "spec.router")
    return router(found) if found else None


def _gateway(resolver: Resolver, spec: Mapping[str, Any], network: str) -> list[dict[str, Any]]:
    found = []
    for index, each in enumerate((spec.get("managedRouter") or {}).get("externalIPs") or ()):
        where = f"spec.managedRouter.externalIPs[{index}].subnet"
        if network and (place := resolver.resolve("subnet", each["subnet"], where, network_id=network)):
            address = {"ip_address": each["fixedIP"]} if each.get("fixedIP") else {}
            found.append({"subnet_id": place.id, **address})
    return found


def _address(resolver: Resolver, spec: Mapping[str, Any], part: str) -> CloudResource | None:
    given = spec.get(part) or {}
    if not given.get("floatingIP") or given.get("enableFloatingIP") is False or given.get("enabled") is False:
        return None
    return resolver.only_match(query("floating-ip", floating_ip_address=given["floatingIP"]), f"spec.{part}.floatingIP")
