"""OpenStackCluster: the resources that machines share: network, router, security groups, API endpoint, bastion.

OpenStackClusterTemplate has the same spec, from which Cluster API creates the OpenStackClusters of a ClusterClass;
Stackwright does not reconcile it. Load balancers are not supported yet and are rejected by name.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from stackwright.api.fields.network import NeutronAddress
from stackwright.api.infra.capi import (
    AGE,
    CATEGORIES,
    CLUSTER,
    GROUP,
    MESSAGE,
    MOST,
    READY,
    InfraResource,
    InfraStatus,
    Part,
    Tags,
    Texts,
)
from stackwright.api.infra.cluster.changes import CHANGES, RULES, WHOLE
from stackwright.api.infra.cluster.parts import (
    LOAD_BALANCER,
    ApiServer,
    Bastion,
    Endpoint,
    ExternalRouterIP,
    ManagedNetwork,
    ManagedRouter,
    ManagedSecurityGroups,
    SubnetSpec,
)
from stackwright.api.infra.cluster.spelling import later_spelling
from stackwright.api.infra.cluster.status import OpenStackClusterStatus
from stackwright.api.infra.identity import IdentityReference
from stackwright.api.infra.machine import ANOTHER, CONTRACT, VERSIONS
from stackwright.api.infra.machine_parts import LOST, CredentialsLostPolicy, RecreatePolicy
from stackwright.api.infra.params import NetworkParam, RouterParam, SubnetParam
from stackwright.api.meta import Column, Kind
from stackwright.api.rules import Change, Rule, at
from stackwright.api.support import Absent, absent

FINALIZER = f"openstackcluster.{GROUP}"


def _older(later: str, opposite: bool = False) -> Any:
    more = ", inverted" if opposite else ""
    return Field(None, description=f"Older: {later}{more}.")


class OpenStackClusterSpec(Part):
    RULES: ClassVar[tuple[Rule, ...]] = RULES
    CHANGES: ClassVar[tuple[Change, ...]] = CHANGES

    identity_ref: IdentityReference = Field(
        description="Credentials of the cluster, and of machines without their own."
    )
    managed_subnets: list[SubnetSpec] = Field(
        default_factory=list, max_length=1, description="IPv4 subnet to create, with a network and a router."
    )
    subnets: list[SubnetParam] = Field(default_factory=list, max_length=16, description="Existing subnets.")
    primary_subnet: SubnetParam | None = Field(None, description="The one of `subnets` that contains the API.")
    managed_network: ManagedNetwork | None = Field(None, description="Settings of the created network.")
    network: NetworkParam | None = Field(None, description="Existing network.")
    managed_router: ManagedRouter | None = Field(None, description="Settings of the created router.")
    router: RouterParam | None = Field(None, description="Existing router.")
    external_network: NetworkParam | None = Field(
        None, description="Network of floating IPs; default: the only external one."
    )
    enable_external_network: bool | None = Field(
        None, description="Whether the cluster has an external network; default: true."
    )
    api_server: ApiServer | None = Field(None, description="Address of the API.")
    managed_security_groups: ManagedSecurityGroups | None = Field(None, description="Security groups to create.")
    tags: Tags = Field(default_factory=list, description="Tags of all created resources.")
    control_plane_endpoint: Endpoint | None = Field(
        None, description="Endpoint of the API; default: written by the operator."
    )
    control_plane_availability_zones: Texts = Field(
        default_factory=list, description="Availability zones for control plane nodes; default: all."
    )
    control_plane_omit_availability_zone: bool | None = Field(
        None, description="true: Nova selects the zone of control plane nodes."
    )
    bastion: Bastion | None = Field(None, description="A bastion host for SSH.")
    recreate_policy: RecreatePolicy = Field(
        "Never", description="Always: recreate resources that others deleted in OpenStack."
    )
    credentials_lost_policy: CredentialsLostPolicy = Field("Wait", description=LOST)

    network_mtu: Annotated[int, Field(ge=0, le=65535)] | None = _older("managedNetwork.mtu")
    disable_port_security: bool | None = _older("managedNetwork.enablePortSecurity", opposite=True)
    external_router_ips: Annotated[list[ExternalRouterIP], Field(max_length=MOST)] | None = _older(
        "managedRouter.externalIPs"
    )
    disable_external_network: bool | None = _older("enableExternalNetwork", opposite=True)
    disable_api_server_floating_ip: bool | None = _older("apiServer.enableFloatingIP", opposite=True)
    api_server_floating_ip: NeutronAddress | None = _older("apiServer.floatingIP")
    api_server_fixed_ip: NeutronAddress | None = _older("apiServer.fixedIP")
    api_server_port: Annotated[int, Field(ge=0, le=65535)] | None = _older("apiServer.port")
    api_server_load_balancer: Absent | None = absent(LOAD_BALANCER)

    @model_serializer(mode="wrap")
    def _later_spelling(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return later_spelling(handler(self))


class OpenStackCluster(InfraResource):
    DESCRIPTION = "Shared resources of a cluster's machines in an OpenStack."
    KIND: ClassVar[Kind] = Kind(
        GROUP, VERSIONS[0], "OpenStackCluster", "openstackclusters", short=("osc",), also=VERSIONS[1:],
        columns=(
            CLUSTER, READY, Column("Network", ".status.network.id"),
            Column("Endpoint", ".spec.controlPlaneEndpoint.host", priority=1),
            Column("Bastion IP", ".status.bastion.floatingIP"), MESSAGE, AGE,
        ),
        categories=CATEGORIES, contract=CONTRACT,
    )  # fmt: skip
    CHANGES: ClassVar[tuple[Change, ...]] = WHOLE
    spec: OpenStackClusterSpec = Field(description="Desired state of the cluster.")
    status: OpenStackClusterStatus = Field(
        default_factory=OpenStackClusterStatus, description="Observed state of the cluster."
    )


class ClusterTemplate(Part):
    spec: OpenStackClusterSpec = Field(description="The spec of each cluster.")


class OpenStackClusterTemplateSpec(Part):
    template: ClusterTemplate = Field(description="Template of each cluster.")


class OpenStackClusterTemplate(InfraResource):
    DESCRIPTION = "Template of an OpenStackCluster, for a ClusterClass."
    KIND: ClassVar[Kind] = Kind(
        GROUP, VERSIONS[0], "OpenStackClusterTemplate", "openstackclustertemplates", short=("osct",), also=VERSIONS[1:],
        columns=(AGE,), categories=CATEGORIES, contract=CONTRACT,
    )  # fmt: skip
    TEMPLATE: ClassVar[bool] = True
    REPORTED: ClassVar[bool] = False
    CHANGES: ClassVar[tuple[Change, ...]] = (
        Change("spec.template", ANOTHER, "", lambda old, new: at(old, "spec.template") != at(new, "spec.template")),
    )
    spec: OpenStackClusterTemplateSpec = Field(description="The template.")
    status: InfraStatus = Field(default_factory=InfraStatus, description="Not used.")
