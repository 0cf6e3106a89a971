"""Parts of an OpenStackCluster: its network, security group rules, API endpoint, and bastion."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from stackwright.api.fields.lines import Line, Short
from stackwright.api.infra.capi import MANY, MOST, Ipv4, Ipv4Range, Keyed, NonEmpty, Part
from stackwright.api.infra.machine import MachineSpec
from stackwright.api.infra.params import SubnetParam
from stackwright.api.infra.ports import TEXT
from stackwright.api.rules import Rule, either
from stackwright.api.support import Absent, absent

LOAD_BALANCER = "Octavia before the API."


class AllocationPool(Part):
    start: Short = Field(min_length=1, description="First address.")
    end: Short = Field(min_length=1, description="Last address.")


class SubnetSpec(Part):
    cidr: Ipv4Range = Field(description="Its range, e.g. 10.6.0.0/24.")
    dns_nameservers: list[Short] = Field(
        default_factory=list, max_length=MOST, description="DNS servers that machines ask."
    )
    allocation_pools: list[AllocationPool] = Field(
        default_factory=list, max_length=MOST, description="Addresses to give; absent: all."
    )


class ExternalRouterIP(Part):
    fixed_ip: Short | None = Field(None, description="Absent: any of the subnet.")
    subnet: SubnetParam = Field(description="Subnet of the external network.")


class ManagedNetwork(NonEmpty):
    mtu: int | None = Field(None, ge=0, le=65535, description="MTU of the network, 68 at least; 0: Neutron's.")
    enable_port_security: bool | None = Field(None, description="Port security of the network.")


class ManagedRouter(Part):
    external_ips: list[ExternalRouterIP] = Field(
        min_length=1, max_length=MOST, description="External addresses of the router."
    )


class ApiServer(Part):
    port: int | None = Field(None, ge=0, le=65535, description="Port of the API; absent or 0: 6443.")
    fixed_ip: Short | None = Field(None, description="Address of the API inside, kept free for it.")
    floating_ip: Short | None = Field(None, description="Address of the API outside; absent: any.")
    enable_floating_ip: bool | None = Field(None, description="Whether the API has a floating IP; absent: it has.")
    managed_load_balancer: Absent | None = absent(LOAD_BALANCER)


class Endpoint(Part):
    host: Short | None = Field(None, description="Name or address.")
    port: int | None = Field(None, ge=0, le=65535, description="Port.")


REMOTES = ("remoteGroupID", "remoteIPPrefix", "remoteManagedGroups")


class SecurityGroupRule(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "",
            f"at most one of {', '.join(REMOTES)}",
            f"[{', '.join(f'has(self.{name})' for name in REMOTES)}].filter(x, x).size() <= 1",
            lambda raw: sum(raw.get(name) is not None for name in REMOTES) > 1,
        ),
    )

    name: Line = Field(min_length=1, max_length=TEXT, description="Name of the rule here.")
    description: str | None = Field(None, max_length=TEXT, description="Text in Neutron; absent: the name.")
    direction: Literal["ingress", "egress"] = Field(description="In or out.")
    ether_type: Literal["IPv4", "IPv6"] | None = Field(None, description="Version of IP.")
    port_range_min: int | None = Field(None, description="First port.")
    port_range_max: int | None = Field(None, description="Last port.")
    protocol: Short | None = Field(None, description="E.g. tcp; absent: any.")
    remote_group_id: Short | None = Field(None, description="The other end, an id.")
    remote_ip_prefix: Short | None = Field(None, description="The other end, a range.")
    # None, not empty, is absent: an empty list beside another remote counts as a second remote.
    remote_managed_groups: list[Literal["bastion", "controlplane", "worker"]] | None = Field(
        None, max_length=3, description="The other end, by group."
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
    allow_all_in_cluster_traffic: bool = Field(False, description="Let everything through between nodes.")

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

    enabled: bool = Field(True, description="Whether there is a bastion; turn it off before you remove this.")
    spec: MachineSpec | None = Field(None, description="The machine.")
    availability_zone: Short | None = Field(None, description="Availability zone of Nova.")
    floating_ip: Ipv4 | None = Field(None, description="Its floating IP; absent: any.")
