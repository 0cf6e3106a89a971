"""The types of resources in an OpenStack, with all facts that decisions need. Pure.

A type has one entry here and one in adapters.openstack.tenant.rest.rest_types, which describes its API. All else is
derived from these two tables: the order of deletion, the marks, drift, the filters of references, and the OpenStacks in
memory of tests and `plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

TAGS = {"tags": "tags", "tagsAny": "tags-any", "notTags": "not-tags", "notTagsAny": "not-tags-any"}
_NEUTRON = {"name": "name", "description": "description", "projectID": "project_id", **TAGS}
_SUBNET = {
    **_NEUTRON, "ipVersion": "ip_version", "gatewayIP": "gateway_ip", "cidr": "cidr",
    "ipv6AddressMode": "ipv6_address_mode", "ipv6RAMode": "ipv6_ra_mode",
}  # fmt: skip


@dataclass(frozen=True)
class TypeFacts:
    """Names of fields are those of the API. A pair is a type, and the field with the id of a resource of that type.

    owned     whether the operator creates resources of this type; resources of other types are only looked up
    mark      field of the create request that contains the mark
    copied    whether a user's copy of a resource may contain its mark
    compared  fields that were set at creation, and are restored when other clients change them
    filters   field of a reference's filter → filter of the API
    built     state of a resource that can be used; a type without such a state changes by requests only
    gone      states of listed resources that are treated as deleted
    parent    the resource whose deletion deletes it; resources that other clients add to a parent of ours are deleted
    attached  the resource to which it can be attached; it is observed with that one and outlives it
    detached  its fields while it is attached to nothing
    used      fields that are set while it is in use; without them its use is unknown
    needs     field of a create request → type of the resources that it names, which cannot be deleted before this one;
              after a dot, the field of each item of a list
    named     whether other objects contain its id
    precious  whether its deletion needs a user's consent: it has data, or an address that other systems use
    """

    owned: bool = True
    mark: Literal["description", "metadata", "tags"] = "description"
    copied: bool = False
    compared: tuple[str, ...] = ()
    filters: Mapping[str, str] = field(default_factory=dict)
    built: str = ""
    gone: tuple[str, ...] = ()
    parent: tuple[str, str] | None = None
    attached: tuple[str, str] | None = None
    detached: Mapping[str, Any] = field(default_factory=dict)
    used: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    named: bool = False
    precious: bool = False


# In the order of deletion: a type comes before the types that it uses. Resources of one type are deleted together.
TYPES: dict[str, TypeFacts] = {
    "server": TypeFacts(
        mark="tags",
        compared=("name", "metadata", "tags"),
        built="ACTIVE",
        gone=("DELETED", "SOFT_DELETED"),  # only an administrator of the cloud can restore it
        used=("addresses",),  # of two servers with the same ports, only one gets them
        precious=True,
    ),
    "floating-ip": TypeFacts(
        compared=("tags",),
        attached=("port", "port_id"),
        detached={"port_id": None, "fixed_ip_address": None},
        used=("port_id",),
        needs={"floating_network_id": "network"},
        precious=True,
    ),
    "trunk": TypeFacts(compared=("name", "tags"), used=("port_id",), needs={"port_id": "port"}),
    "port": TypeFacts(
        compared=(
            "name", "admin_state_up", "port_security_enabled", "security_groups", "allowed_address_pairs", "tags",
        ),
        detached={"device_id": ""},
        used=("device_id",),
        needs={"network_id": "network", "fixed_ips.subnet_id": "subnet", "security_groups": "security-group"},
    ),
    "volume": TypeFacts(
        mark="metadata", copied=True, compared=("name",), built="available", used=("attachments",), precious=True
    ),
    "router": TypeFacts(compared=("name", "admin_state_up", "external_gateway_info", "tags"), filters=_NEUTRON),
    "subnet": TypeFacts(
        compared=("name", "gateway_ip", "dns_nameservers", "tags"),
        filters=_SUBNET,
        needs={"network_id": "network"},
        named=True,
    ),
    "network": TypeFacts(
        compared=("name", "admin_state_up", "mtu", "port_security_enabled", "tags"),
        filters=_NEUTRON,
        used=("subnets",),
        named=True,
    ),
    "security-group": TypeFacts(compared=("name", "tags"), filters=_NEUTRON, named=True),
    "security-group-rule": TypeFacts(
        parent=("security-group", "security_group_id"),
        needs={"security_group_id": "security-group", "remote_group_id": "security-group"},
    ),
    "image": TypeFacts(owned=False, filters={"name": "name", "tags": "tag"}),
    "flavor": TypeFacts(owned=False, filters={"name": "name"}),
    "server-group": TypeFacts(owned=False, filters={"name": "name"}),
    "availability-zone": TypeFacts(owned=False),
}  # fmt: skip


def deletion_order() -> list[str]:
    """The types that are deleted on their own, those that use others first."""
    return [name for name, each in TYPES.items() if each.owned and not each.parent]


def dependents(type_: str, relation: Literal["parent", "attached"]) -> dict[str, str]:
    """Type → field, for the types whose resources belong, or can be attached, to one of this type."""
    pairs = ((each, getattr(facts, relation)) for each, facts in TYPES.items())
    return {each: pair[1] for each, pair in pairs if pair and pair[0] == type_}
