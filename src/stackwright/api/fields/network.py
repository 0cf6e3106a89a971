"""Types for addresses and names of networks and interfaces.

`NeutronAddress` and the types after it accept the values of Neutron, and the empty text, which means the default.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Annotated, LiteralString

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from stackwright.api.fields.lines import Line, Short


def _address(value: str) -> str:
    ipaddress.ip_address(value)
    return value


def _network(value: str) -> str:
    network = ipaddress.ip_network(value, strict=False)
    if "/" not in value:
        raise ValueError(f"{value!r} has no prefix length, such as {value}/24")
    if ipaddress.ip_interface(value).ip != network.network_address:
        raise ValueError(f"{value!r} has host bits set; write {network}")
    return value


def unusable(address: str, network: str) -> str:
    """Why no interface in a network can have an address, as checked by Neutron; empty if one can."""
    ip, net = ipaddress.ip_address(address), ipaddress.ip_network(network, strict=False)
    if ip not in net:
        return f"is not in range {network}"
    if ip == net.network_address and net.version == 4:
        return f"is the network address of {network}"
    if ip == net.broadcast_address and net.version == 4:
        return f"is the broadcast address of {network}"
    return ""


def gateway_of(cidr: str) -> str:
    """The gateway of a subnet that the operator creates: its first address."""
    return str(next(iter(ipaddress.ip_network(cidr, strict=False).hosts())))


Address = Annotated[Line, AfterValidator(_address)]
Network = Annotated[Line, AfterValidator(_network)]
InterfaceName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,14}$")]
PhysnetName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$")]

# Names of protocols in Neutron, which also accepts numbers.
PROTOCOLS: Mapping[str, int] = {
    "ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "hopopt": 0, "icmp": 1, "icmpv6": 58, "igmp": 2, "ip": 0,
    "ipip": 4, "ipv6-encap": 41, "ipv6-frag": 44, "ipv6-icmp": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43,
    "ospf": 89, "pgm": 113, "rsvp": 46, "sctp": 132, "tcp": 6, "udp": 17, "udplite": 136, "vrrp": 112,
}  # fmt: skip
ICMP, ICMP6 = PROTOCOLS["icmp"], PROTOCOLS["icmpv6"]
REJECTED = "rejected_by_neutron"  # error type of the types from `NeutronAddress` on
_HEX = "[0-9a-fA-F]"
_MAC = re.compile(
    f"{_HEX}{{1,2}}([:-]{_HEX}{{1,2}}){{5}}|{_HEX}{{1,4}}([:.-]{_HEX}{{1,4}}){{2}}|{_HEX}{{6}}[:-]{_HEX}{{6}}|{_HEX}{{12}}"
)


def _is_address(value: str) -> bool:
    return _parses(ipaddress.ip_address, value)


def _is_range(value: str) -> bool:
    return _parses(ipaddress.ip_interface, value)


def _parses(parse: Callable[[str], object], value: str) -> bool:
    try:
        parse(value)
    except ValueError:
        return False
    return True


def _is_mac(value: str) -> bool:
    return _MAC.fullmatch(value) is not None


def protocol_number(value: str) -> int | None:
    """The number of a protocol by name or number, in any notation that Neutron accepts; None if Neutron rejects it."""
    if value.isascii() and value.isdecimal() and len(value) < 4:
        return int(value)
    return PROTOCOLS.get(value.lower())


def _is_protocol(value: str) -> bool:
    number = protocol_number(value)
    return value.lower() == "any" if number is None else number <= 255


def _or_empty(fits: Callable[[str], bool], problem: LiteralString) -> AfterValidator:
    def checked(value: str) -> str:
        if value and not fits(value):
            raise PydanticCustomError(REJECTED, problem)
        return value

    return AfterValidator(checked)


NeutronAddress = Annotated[Short, _or_empty(_is_address, "must be an IP address")]
NeutronRange = Annotated[Short, _or_empty(_is_range, "must be an IP address or a range such as 10.6.0.0/24")]
MacAddress = Annotated[Short, _or_empty(_is_mac, "must be a MAC address such as fa:16:3e:00:00:01")]
Protocol = Annotated[Short, _or_empty(_is_protocol, "must be a protocol such as tcp, or its number, at most 255")]
