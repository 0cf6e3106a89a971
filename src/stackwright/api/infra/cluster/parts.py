"""Parts of an OpenStackCluster: its network, security group rules, API endpoint, and bastion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_address
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from stackwright.api.fields.keyed import Keyed
from stackwright.api.fields.lines import Line, Short
from stackwright.api.fields.network import (
    ICMP,
    ICMP6,
    REJECTED,
    NeutronAddress,
    NeutronRange,
    Protocol,
    gateway_of,
    protocol_number,
    unusable,
)
from stackwright.api.infra.capi import MANY, MOST, Ipv4, Ipv4Range, NonEmpty, Part
from stackwright.api.infra.machine import MachineSpec
from stackwright.api.infra.params import SubnetParam
from stackwright.api.infra.ports import TEXT
from stackwright.api.rules import Raw, Rule, either
from stackwright.api.support import Absent, absent

LOAD_BALANCER = "Octavia load balancer of the API."


def _is_backwards(pool: Raw) -> bool:
    return bool(_parsed(pool["end"]) < _parsed(pool["start"]))


def _parsed(address: Any) -> Any:
    """A parsed address, which is comparable only with addresses of the same version."""
    return ip_address(address)


class AllocationPool(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("end", "must not be before start", "", _is_backwards),)

    start: NeutronAddress = Field(min_length=1, description="First address.")
    end: NeutronAddress = Field(min_length=1, description="Last address.")


def _pools(subnet: Raw) -> Iterator[tuple[str, str]]:
    """First and last address of each pool with valid addresses."""
    pools = subnet.get("allocationPools")
    for pool in pools if isinstance(pools, list) else ():
        with suppress(AttributeError, ValueError):
            yield str(ip_address(pool.get("start"))), str(ip_address(pool.get("end")))


def _is_outside(subnet: Raw) -> bool:
    return any(unusable(each, subnet["cidr"]) for pool in _pools(subnet) for each in pool)


def _overlap(subnet: Raw) -> bool:
    pools = sorted([_parsed(each) for each in pool] for pool in _pools(subnet))
    return any(later[0] <= earlier[1] for earlier, later in pairwise(pools))


def _contain_gateway(subnet: Raw) -> bool:
    gateway = _parsed(gateway_of(subnet["cidr"]))
    return any(_parsed(first) <= gateway <= _parsed(last) for first, last in _pools(subnet))


class SubnetSpec(Part):
    # No CEL: addresses in lists exceed its cost limit.
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("allocationPools", "must be within cidr, without its first and last address", "", _is_outside),
        Rule("allocationPools", "must not overlap", "", _overlap),
        Rule(
            "allocationPools",
            "must not contain the gateway, the first address after the network address",
            "",
            _contain_gateway,
        ),
    )

    cidr: Ipv4Range = Field(description="Its range, e.g. 10.6.0.0/24.")
    dns_nameservers: list[NeutronAddress] = Field(
        default_factory=list, max_length=MOST, description="Addresses of the DNS servers of machines."
    )
    allocation_pools: list[AllocationPool] = Field(
        default_factory=list, max_length=MOST, description="Addresses to allocate; default: all."
    )


class ExternalRouterIP(Part):
    fixed_ip: NeutronAddress | None = Field(None, description="Default: any address of the subnet.")
    subnet: SubnetParam = Field(description="Subnet of the external network.")


class ManagedNetwork(NonEmpty):
    mtu: int | None = Field(None, ge=0, le=65535, description="MTU of the network, at least 68; 0: Neutron's default.")
    enable_port_security: bool | None = Field(None, description="Port security of the network.")


class ManagedRouter(Part):
    external_ips: list[ExternalRouterIP] = Field(
        min_length=1, max_length=MOST, description="External addresses of the router."
    )


class ApiServer(Part):
    port: int | None = Field(None, ge=0, le=65535, description="Port of the API; default or 0: 6443.")
    fixed_ip: NeutronAddress | None = Field(None, description="Internal address of the API, reserved for it.")
    floating_ip: NeutronAddress | None = Field(None, description="Floating IP of the API; default: any.")
    enable_floating_ip: bool | None = Field(None, description="Whether the API has a floating IP; default: true.")
    managed_load_balancer: Absent | None = absent(LOAD_BALANCER)


class Endpoint(Part):
    host: Short | None = Field(None, description="Name or address.")
    port: int | None = Field(None, ge=0, le=65535, description="Port.")


REMOTES = ("remoteGroupID", "remoteIPPrefix", "remoteManagedGroups")


def _backwards(rule: Raw) -> bool:
    first, last = rule.get("portRangeMin"), rule.get("portRangeMax")
    backwards = first is not None and last is not None and first > last
    # For ICMP, the ports are type and code.
    return backwards and protocol_number(str(rule.get("protocol"))) not in (ICMP, ICMP6)


class SecurityGroupRule(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "",
            f"at most one of {', '.join(REMOTES)}",
            f"[{', '.join(f'has(self.{name})' for name in REMOTES)}].filter(x, x).size() <= 1",
            lambda raw: sum(raw.get(name) is not None for name in REMOTES) > 1,
        ),
        # No CEL: Neutron has several names for the protocols of ICMP, in upper or lower case.
        Rule("portRangeMax", "must be at least portRangeMin", "", _backwards),
    )

    name: Line = Field(min_length=1, max_length=TEXT, description="Name of the rule.")
    description: str | None = Field(None, max_length=TEXT, description="Description in Neutron; default: the name.")
    direction: Literal["ingress", "egress"] = Field(description="ingress or egress.")
    ether_type: Literal["IPv4", "IPv6"] | None = Field(None, description="IP version.")
    port_range_min: int | None = Field(None, ge=0, le=65535, description="First port; type of an ICMP message.")
    port_range_max: int | None = Field(None, ge=0, le=65535, description="Last port; code of an ICMP message.")
    protocol: Protocol | None = Field(None, description="Protocol, e.g. tcp; default: any.")
    remote_group_id: Short | None = Field(None, description="Remote security group, by id.")
    remote_ip_prefix: NeutronRange | None = Field(None, description="Remote address range.")
    # Only None is absent: an empty list beside another remote is a second remote.
    remote_managed_groups: list[Literal["bastion", "controlplane", "worker"]] | None = Field(
        None, max_length=3, description="Remote managed security groups."
    )


Rules = Annotated[list[SecurityGroupRule], Field(max_length=MANY), Keyed("name")]


class ManagedSecurityGroups(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (either("allNodesSecurityGroupRules", "clusterNodesSecurityGroupRules"),)

    cluster_nodes_security_group_rules: Rules | None = Field(None, description="Rules of all nodes, not the bastion.")
    all_nodes_security_group_rules: Rules | None = Field(None, description="Older: clusterNodesSecurityGroupRules.")
    control_plane_nodes_security_group_rules: Rules = Field(
        default_factory=list, description="Rules of control plane nodes."
    )
    worker_nodes_security_group_rules: Rules = Field(default_factory=list, description="Rules of worker nodes.")
    allow_all_in_cluster_traffic: bool = Field(False, description="Allow all traffic between nodes.")

    @model_serializer(mode="wrap")
    def _later_spelling(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        rules = written.pop("allNodesSecurityGroupRules", None)
        return written if rules is None else {**written, "clusterNodesSecurityGroupRules": rules}


class Bastion(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "spec",
            "is required while the bastion is enabled",
            "!self.enabled || has(self.spec)",
            lambda raw: raw.get("enabled") is not False and raw.get("spec") is None,
        ),
    )

    enabled: bool = Field(
        True, description="Whether the cluster has a bastion; disable it before you remove this field."
    )
    spec: MachineSpec | None = Field(None, description="The machine.")
    availability_zone: Short | None = Field(None, description="Availability zone of Nova.")
    floating_ip: Ipv4 | None = Field(None, description="Floating IP; default: any.")

    @model_validator(mode="wrap")
    @classmethod
    def _without_rejected_ports(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """A disabled bastion may have ports that Neutron rejects: earlier versions accepted them. They are omitted."""
        try:
            return handler(value)
        except ValidationError as error:
            disabled = isinstance(value, Mapping) and value.get("enabled") is False
            if not disabled or any(each["type"] != REJECTED for each in error.errors(include_url=False)):
                raise
            spec = {name: each for name, each in value["spec"].items() if name != "ports"}
            return handler({**value, "spec": spec})
