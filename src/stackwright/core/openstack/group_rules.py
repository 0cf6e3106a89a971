"""Comparison of security group rules. Pure.

Neutron rejects a rule with 409 if its group has an equivalent one. It treats a prefix of all addresses like no prefix,
and the name of a protocol like its number, in any notation.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from stackwright.api.fields.network import ICMP, ICMP6, protocol_number

EVERY_PORT = (1, 65535)


def meaning(rule: Mapping[str, Any]) -> tuple[Any, ...]:
    """A value that is equal for equivalent rules. Accepts the form of a request and that of a response."""
    version = rule.get("ethertype") or "IPv4"
    protocol = _protocol(rule.get("protocol"), version)
    ports = rule.get("port_range_min"), rule.get("port_range_max")
    if protocol not in (ICMP, ICMP6) and ports == (None, None):  # for ICMP these fields are type and code
        ports = EVERY_PORT
    remotes = (rule.get(name) or None for name in ("remote_group_id", "remote_address_group_id"))
    prefix = _prefix(rule.get("remote_ip_prefix"))
    return rule.get("security_group_id"), rule.get("direction"), version, protocol, *ports, *remotes, prefix


def _protocol(value: Any, version: str) -> Any:
    if value is None:
        return None
    number = protocol_number(str(value))
    if number is None:
        return str(value).lower()
    return ICMP6 if (version, number) == ("IPv6", ICMP) else number


def _prefix(value: Any) -> str | None:
    try:
        network = ipaddress.ip_network(str(value or "0.0.0.0/0"), strict=False)
    except ValueError:
        return str(value)
    return str(network) if network.prefixlen else None
