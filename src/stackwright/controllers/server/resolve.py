"""Resolves the names in a server's spec to ids, once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackwright.controllers.infra.references import Answers, Resolver
from stackwright.controllers.server.objects import has_trunk
from stackwright.core.openstack.clouds import Query, query
from stackwright.core.openstack.resources import CloudResource


@dataclass(frozen=True)
class Resolved:
    """value  content of status.resolved, None while unknown"""

    value: Mapping[str, Any] | None
    missing: tuple[Query, ...] = ()
    problems: tuple[str, ...] = ()


def resolve(name: str, spec: Mapping[str, Any], images: Mapping[str, str], answers: Answers) -> Resolved:
    """Resolve all names. `images` maps the name of an Image object to its id, for Image objects that are ready."""
    resolver = Resolver(answers)
    image = _image(resolver, spec["image"], images)
    flavor = _flavor(resolver, spec)
    group = resolver.resolve("server-group", spec.get("serverGroup"), "spec.serverGroup")
    shared = _shared(resolver, spec)
    ports = [
        _port(resolver, port_name, spec, index, shared) for index, port_name in enumerate(_names(name, spec["ports"]))
    ]
    if resolver.missing or resolver.problems or image is None or flavor is None or None in ports:
        return Resolved(None, tuple(resolver.missing), tuple(resolver.problems))
    value: dict[str, Any] = {"imageID": image, "flavorID": flavor, "ports": ports}
    return Resolved({**value, **({"serverGroupID": group.id} if group else {})})


def _image(resolver: Resolver, image: Mapping[str, Any], images: Mapping[str, str]) -> str | None:
    if reference := image.get("imageRef"):
        if reference["name"] not in images:
            resolver.problems.append(f"spec.image.imageRef: Waiting for Image {reference['name']}")
        return images.get(reference["name"])
    found = resolver.resolve("image", image, "spec.image")
    return found.id if found else None


def _flavor(resolver: Resolver, spec: Mapping[str, Any]) -> str | None:
    if spec.get("flavorID"):
        return str(spec["flavorID"])
    found = resolver.only_match(query("flavor", name=spec.get("flavor")), "spec.flavor")
    return found.id if found else None


def _names(name: str, ports: Sequence[Mapping[str, Any]]) -> list[str]:
    """A unique name for each port, even if two ports have the same suffix."""
    found: list[str] = []
    for index, port in enumerate(ports):
        wanted = f"{name}-{port.get('nameSuffix') or index}"
        while wanted in found:
            wanted = f"{wanted}-{index}"
        found.append(wanted)
    return found


def _port(
    resolver: Resolver, name: str, spec: Mapping[str, Any], index: int, shared: list[str]
) -> dict[str, Any] | None:
    port, where = spec["ports"][index], f"spec.ports[{index}]"
    network = resolver.resolve("network", port.get("network"), f"{where}.network")
    network_id = network.id if network else None
    addresses = []
    for number, fixed in enumerate(port.get("fixedIPs") or ()):
        within = {"network_id": network_id} if network_id else {}
        if port.get("network") and not network_id:
            continue  # its network is not resolved yet
        subnet = resolver.resolve("subnet", fixed.get("subnet"), f"{where}.fixedIPs[{number}].subnet", **within)
        if subnet and network_id is None:
            network_id = subnet.facts.get("network_id") or _network_of(resolver, subnet, where)
        address = {"subnet": subnet.id if subnet else None, "ipAddress": fixed.get("ipAddress")}
        addresses.append({key: value for key, value in address.items() if value})
    groups = list(shared) if _shares(port) else _groups(resolver, port, where)
    if network_id is None:
        if not resolver.missing and not resolver.problems:
            resolver.problems.append(
                f"{where}.network: neither the port nor the subnet of its first fixed IP names one"
            )
        return None
    tags = sorted({*(spec.get("tags") or ()), *(port.get("tags") or ())})
    resolved = {
        "name": name, "networkID": network_id, "description": port.get("description"), "tags": tags,
        "trunk": has_trunk(spec, port), "fixedIPs": addresses, "securityGroups": groups,
        **{key: port.get(key) for key in PLAIN},
    }  # fmt: skip
    return {
        key: value
        for key, value in resolved.items()
        if value is not None and (value not in ([], False) or key in _FALSE_COUNTS)
    }


PLAIN = (
    "adminStateUp", "macAddress", "allowedAddressPairs", "hostID", "vnicType", "profile", "enablePortSecurity",
    "propagateUplinkStatus", "valueSpecs",
)  # fmt: skip
_FALSE_COUNTS = ("adminStateUp", "enablePortSecurity", "propagateUplinkStatus")


def _network_of(resolver: Resolver, subnet: CloudResource, where: str) -> str | None:
    """The network of a subnet that the spec names by its id alone."""
    found = resolver.only_match(query("subnet", id=subnet.id), f"{where}.fixedIPs[0].subnet")
    network = found.facts.get("network_id") if found else None
    return str(network) if network else None


def _shared(resolver: Resolver, spec: Mapping[str, Any]) -> list[str]:
    """Security groups of all ports that name none; resolved, and reported if invalid, only once."""
    return _groups(resolver, spec, "spec") if any(map(_shares, spec["ports"])) else []


def _shares(port: Mapping[str, Any]) -> bool:
    return port.get("enablePortSecurity") is not False and not port.get("securityGroups")


def _groups(resolver: Resolver, has: Mapping[str, Any], where: str) -> list[str]:
    if has.get("enablePortSecurity") is False:
        return []
    wanted = enumerate(has.get("securityGroups") or ())
    found = [resolver.resolve("security-group", param, f"{where}.securityGroups[{number}]") for number, param in wanted]
    return [group.id for group in found if group]
