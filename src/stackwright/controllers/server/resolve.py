"""Names in a server's spec → ids, once. Pure.

What the spec names by id is taken as it is. A name or a filter must find exactly one; all that does not is told at
once. Some questions follow from answers, so `resolve` is called until it has no more of them: what it was not told yet
is in `missing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.core.clouds import Question, Thing, question

Answers = Mapping[Question, tuple[Thing, ...]]
TAGS = {"tags": "tags", "tagsAny": "tags-any", "notTags": "not-tags", "notTagsAny": "not-tags-any"}
COMMON = {"name": "name", "description": "description", "projectID": "project_id", **TAGS}
FILTERS: Mapping[str, Mapping[str, str]] = {
    "image": {"name": "name", "tags": "tag"},
    "flavor": {"name": "name"},
    "server-group": {"name": "name"},
    "network": COMMON,
    "security-group": COMMON,
    "router": COMMON,
    "subnet": {
        **COMMON, "ipVersion": "ip_version", "gatewayIP": "gateway_ip", "cidr": "cidr",
        "ipv6AddressMode": "ipv6_address_mode", "ipv6RAMode": "ipv6_ra_mode",
    },
}  # fmt: skip


@dataclass
class Resolver:
    """missing   questions without an answer yet
    problems  what found none, or more than one, in words
    """

    answers: Answers
    missing: list[Question] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def one(self, what: str, param: Mapping[str, Any] | None, where: str, **more: Any) -> Thing | None:
        """What {id} or {filter} names; None while that is not known, or wrong. `where` is the field, for messages."""
        if param is None:
            return None
        if param.get("id"):
            return Thing(what, str(param["id"]))
        wanted = {FILTERS[what][name]: value for name, value in (param.get("filter") or {}).items()}
        return self.ask(question(what, **wanted, **more), where)

    def ask(self, asked: Question, where: str) -> Thing | None:
        found = self.answers.get(asked)
        if found is None:
            self.missing.append(asked)
            return None
        if len(found) != 1:
            names = ", ".join(sorted(thing.id for thing in found)) or "there is none"
            self.problems.append(f"{where}: {asked} must be exactly one: {names}")
            return None
        return found[0]


@dataclass(frozen=True)
class Resolved:
    """value  the field status.resolved, None while it is not known"""

    value: Mapping[str, Any] | None
    missing: tuple[Question, ...] = ()
    problems: tuple[str, ...] = ()


def resolve(name: str, spec: Mapping[str, Any], answers: Answers, images: Mapping[str, str] | None = None) -> Resolved:
    """Images  name of an Image object → its id, of those that are ready"""
    asks = Resolver(answers)
    image = _image(asks, spec["image"], images or {})
    flavor = _flavor(asks, spec)
    group = asks.one("server-group", spec.get("serverGroup"), "spec.serverGroup")
    ports = [_port(asks, name, spec, index) for index in range(len(spec["ports"]))]
    if asks.missing or asks.problems or image is None or flavor is None or None in ports:
        return Resolved(None, tuple(asks.missing), tuple(asks.problems))
    value: dict[str, Any] = {"imageID": image, "flavorID": flavor, "ports": ports}
    return Resolved({**value, **({"serverGroupID": group.id} if group else {})})


def _image(asks: Resolver, image: Mapping[str, Any], images: Mapping[str, str]) -> str | None:
    if reference := image.get("imageRef"):
        if reference["name"] not in images:
            asks.problems.append(f"spec.image.imageRef: Waiting for Image {reference['name']}")
        return images.get(reference["name"])
    found = asks.one("image", image, "spec.image")
    return found.id if found else None


def _flavor(asks: Resolver, spec: Mapping[str, Any]) -> str | None:
    if spec.get("flavorID"):
        return str(spec["flavorID"])
    found = asks.ask(question("flavor", name=spec.get("flavor")), "spec.flavor")
    return found.id if found else None


def _port(asks: Resolver, name: str, spec: Mapping[str, Any], index: int) -> dict[str, Any] | None:
    port, where = spec["ports"][index], f"spec.ports[{index}]"
    network = asks.one("network", port.get("network"), f"{where}.network")
    network_id = network.id if network else None
    addresses = []
    for number, fixed in enumerate(port.get("fixedIPs") or ()):
        within = {"network_id": network_id} if network_id else {}
        if port.get("network") and not network_id:
            continue  # its network is not known yet
        subnet = asks.one("subnet", fixed.get("subnet"), f"{where}.fixedIPs[{number}].subnet", **within)
        if subnet and network_id is None:
            network_id = subnet.facts.get("network_id") or _network_of(asks, subnet, where)
        address = {"subnet": subnet.id if subnet else None, "ipAddress": fixed.get("ipAddress")}
        addresses.append({key: value for key, value in address.items() if value})
    groups = _groups(asks, spec, port, where)
    if network_id is None:
        if not asks.missing and not asks.problems:
            asks.problems.append(f"{where}.network: neither the port nor the subnet of its first fixed IP names one")
        return None
    suffix = str(port.get("nameSuffix") or index)
    tags = sorted({*(spec.get("tags") or ()), *(port.get("tags") or ())})
    trunk = spec.get("trunk", False) if port.get("trunk") is None else port["trunk"]
    resolved = {
        "name": f"{name}-{suffix}", "networkID": network_id, "description": port.get("description"), "tags": tags,
        "trunk": bool(trunk), "fixedIPs": addresses, "securityGroups": groups,
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


def _network_of(asks: Resolver, subnet: Thing, where: str) -> str | None:
    """Of a subnet that was named by its id alone."""
    found = asks.ask(question("subnet", id=subnet.id), f"{where}.fixedIPs[0].subnet")
    return str(found.facts["network_id"]) if found else None


def _groups(asks: Resolver, spec: Mapping[str, Any], port: Mapping[str, Any], where: str) -> list[str]:
    if port.get("enablePortSecurity") is False:
        return []
    own = port.get("securityGroups")
    place = f"{where}.securityGroups" if own else "spec.securityGroups"
    wanted = own or spec.get("securityGroups") or ()
    found = [asks.one("security-group", param, f"{place}[{number}]") for number, param in enumerate(wanted)]
    return [group.id for group in found if group]
