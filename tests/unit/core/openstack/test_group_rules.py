"""Which rules of a security group are equal, as Neutron compares them."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.core.openstack.group_rules import meaning

RULE = {"security_group_id": "g", "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp"}
PORTS = {"port_range_min": 6443, "port_range_max": 6443}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"remote_ip_prefix": "0.0.0.0/0"}, {}),
        ({"remote_ip_prefix": "0.0.0.0/0", **PORTS}, {"remote_ip_prefix": None, "remote_group_id": None, **PORTS}),
        ({"remote_ip_prefix": "::/0", "ethertype": "IPv6"}, {"ethertype": "IPv6"}),
        ({"remote_ip_prefix": "10.0.0.1"}, {"remote_ip_prefix": "10.0.0.1/32"}),
        ({"protocol": "6"}, {}),
        ({"protocol": 6}, {"protocol": "TCP"}),
        ({"protocol": "vrrp"}, {"protocol": "112"}),
        ({"protocol": "icmp", "ethertype": "IPv6"}, {"protocol": "ipv6-icmp", "ethertype": "IPv6"}),
        ({"protocol": "icmpv6", "ethertype": "IPv6"}, {"protocol": "58", "ethertype": "IPv6"}),
        ({"protocol": "1", "ethertype": "IPv6"}, {"protocol": "58", "ethertype": "IPv6"}),
        ({"port_range_min": 1, "port_range_max": 65535}, {}),
        ({"description": "a"}, {"description": "b", "id": "r"}),
    ],
)
def test_rules_in_other_notations_are_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert meaning({**RULE, **one}) == meaning({**RULE, **other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"remote_ip_prefix": "10.0.0.0/8"}, {}),
        ({"remote_ip_prefix": "10.0.0.0/8"}, {"remote_ip_prefix": "10.0.0.0/9"}),
        ({"remote_ip_prefix": "no address"}, {}),
        ({"remote_group_id": "h"}, {}),
        ({"remote_address_group_id": "h"}, {}),
        ({"protocol": None}, {}),
        ({"protocol": "udp"}, {}),
        ({"protocol": "17"}, {}),
        ({"protocol": "9" * 5000}, {}),
        ({"ethertype": "IPv6"}, {}),
        ({"direction": "egress"}, {}),
        ({"security_group_id": "h"}, {}),
        (PORTS, {}),
        ({"protocol": "icmp", "port_range_min": 8}, {"protocol": "icmp"}),
    ],
)
def test_rules_for_other_traffic_differ(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert meaning({**RULE, **one}) != meaning({**RULE, **other})
