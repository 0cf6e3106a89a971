"""The status of an OpenStackCluster: found and created resources, and the API endpoint."""

from __future__ import annotations

from pydantic import Field

from stackwright.api.infra.capi import OwnerStatus, Part
from stackwright.api.infra.cluster.parts import Endpoint
from stackwright.api.infra.machine import Initialization


class Named(Part):
    name: str = Field(description="Name.")
    id: str = Field(description="Id in Neutron.")


class Tagged(Named):
    tags: list[str] = Field(default_factory=list, description="Its tags.")


class SubnetStatus(Tagged):
    cidr: str = Field(description="Its range.")


class NetworkStatus(Tagged):
    subnets: list[SubnetStatus] = Field(default_factory=list, description="Subnets, in the order of spec.subnets.")


class RouterStatus(Tagged):
    ips: list[str] = Field(default_factory=list, description="Its external addresses.")


class FailureDomain(Part):
    name: str = Field(description="Availability zone.")
    control_plane: bool | None = Field(None, description="Whether it is for control plane nodes.")
    attributes: dict[str, str] = Field(default_factory=dict, description="Additional attributes.")


class BastionStatus(Part):
    id: str | None = Field(None, description="Id in Nova.")
    name: str | None = Field(None, description="Name of the server.")
    ssh_key_name: str | None = Field(None, description="Its keypair.")
    state: str | None = Field(None, description="Status in Nova.")
    ip: str | None = Field(None, description="Internal address.")
    floating_ip: str | None = Field(None, description="Floating IP.")


class ApiAddress(Part):
    id: str = Field(description="Id in Neutron.")
    address: str = Field(description="The address.")


class OpenStackClusterStatus(OwnerStatus):
    ready: bool = Field(False, description="Whether machines can be created.")
    initialization: Initialization | None = Field(None, description="Progress of the initialization.")
    network: NetworkStatus | None = Field(None, description="Network of the machines.")
    external_network: Tagged | None = Field(None, description="Network of floating IPs.")
    router: RouterStatus | None = Field(None, description="Router between the two networks.")
    control_plane_security_group: Named | None = Field(None, description="Security group of control plane nodes.")
    worker_security_group: Named | None = Field(None, description="Security group of worker nodes.")
    bastion_security_group: Named | None = Field(None, description="Security group of the bastion.")
    bastion: BastionStatus | None = Field(None, description="The bastion.")
    failure_domains: list[FailureDomain] = Field(default_factory=list, description="Availability zones.")
    api_server_floating_ip: ApiAddress | None = Field(None, description="Floating IP of the API server.")
    control_plane_endpoint: Endpoint | None = Field(None, description="Endpoint of the API.")
    resources: list[dict[str, str]] = Field(default_factory=list, description="Created resources: type, name, id.")
