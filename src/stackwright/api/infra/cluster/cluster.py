"""OpenStackCluster: what machines of a cluster share: network, router, security groups, API endpoint, bastion.

OpenStackClusterTemplate has the same spec, from which Cluster API creates the OpenStackClusters of a ClusterClass; no
controller of ours reconciles it. Load balancers are not supported yet and are rejected by name.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from stackwright.api.fields.lines import Short
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
from stackwright.api.rules import Change, Rule
from stackwright.api.support import Absent, absent

FINALIZER = f"openstackcluster.{GROUP}"


def _older(later: str, opposite: bool = False) -> Any:
    more = ", turned round" if opposite else ""
    return Field(None, description=f"Older: {later}{more}.")


class OpenStackClusterSpec(Part):
    RULES: ClassVar[tuple[Rule, ...]] = RULES
    CHANGES: ClassVar[tuple[Change, ...]] = CHANGES

    identity_ref: IdentityReference = Field(description="The credentials, also of machines that have none.")
    managed_subnets: list[SubnetSpec] = Field(
        default_factory=list, max_length=1, description="Subnet to make, with a network and a router; IPv4."
    )
    subnets: list[SubnetParam] = Field(default_factory=list, max_length=16, description="Subnets that are there.")
    primary_subnet: SubnetParam | None = Field(None, description="The one of `subnets` that the API is in.")
    managed_network: ManagedNetwork | None = Field(None, description="What the network is like that is made.")
    network: NetworkParam | None = Field(None, description="Network that is there.")
    managed_router: ManagedRouter | None = Field(None, description="What the router is like that is made.")
    router: RouterParam | None = Field(None, description="Router that is there.")
    external_network: NetworkParam | None = Field(
        None, description="Network of floating IPs; absent: the only external one."
    )
    enable_external_network: bool | None = Field(None, description="false: the cluster has no way out; absent: it has.")
    api_server: ApiServer | None = Field(None, description="The way to the API.")
    managed_security_groups: ManagedSecurityGroups | None = Field(None, description="Security groups to make.")
    tags: Tags = Field(default_factory=list, description="Tags of all that is made.")
    control_plane_endpoint: Endpoint | None = Field(
        None, description="Where the API is; absent: the operator writes it."
    )
    control_plane_availability_zones: Texts = Field(
        default_factory=list, description="Availability zones for control plane nodes; absent: all."
    )
    control_plane_omit_availability_zone: bool | None = Field(
        None, description="true: Nova chooses the zone of control plane nodes."
    )
    bastion: Bastion | None = Field(None, description="A machine to log in from.")
    recreate_policy: RecreatePolicy = Field(
        "Never", description="Always: make anew what somebody deleted in OpenStack."
    )
    credentials_lost_policy: CredentialsLostPolicy = Field("Wait", description=LOST)

    network_mtu: Annotated[int, Field(ge=0, le=65535)] | None = _older("managedNetwork.mtu")
    disable_port_security: bool | None = _older("managedNetwork.enablePortSecurity", opposite=True)
    external_router_ips: Annotated[list[ExternalRouterIP], Field(max_length=MOST)] | None = _older(
        "managedRouter.externalIPs"
    )
    disable_external_network: bool | None = _older("enableExternalNetwork", opposite=True)
    disable_api_server_floating_ip: bool | None = _older("apiServer.enableFloatingIP", opposite=True)
    api_server_floating_ip: Short | None = _older("apiServer.floatingIP")
    api_server_fixed_ip: Short | None = _older("apiServer.fixedIP")
    api_server_port: Annotated[int, Field(ge=0, le=65535)] | None = _older("apiServer.port")
    api_server_load_balancer: Absent | None = absent(LOAD_BALANCER)

    @model_serializer(mode="wrap")
    def _later_spelling(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return later_spelling(handler(self))


class OpenStackCluster(InfraResource):
    DESCRIPTION = "What the machines of a cluster share in an OpenStack."
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
    spec: OpenStackClusterSpec = Field(description="The cluster that is wanted.")
    status: OpenStackClusterStatus = Field(default_factory=OpenStackClusterStatus, description="The cluster as it is.")


class TemplateClusterSpec(OpenStackClusterSpec):
    """The spec in a template, without the update rules of a cluster, because a template is immutable as a whole."""

    CHANGES: ClassVar[tuple[Change, ...]] = ()


class ClusterTemplate(Part):
    spec: TemplateClusterSpec = Field(description="The spec of each cluster.")


class OpenStackClusterTemplateSpec(Part):
    # Only admission checks it, not the schema: the topology controller of Cluster API sends changes as a dry run.
    CHANGES: ClassVar[tuple[Change, ...]] = (
        Change("template", ANOTHER, "", lambda old, new: old.get("template") != new.get("template")),
    )

    template: ClusterTemplate = Field(description="What each cluster is like.")


class OpenStackClusterTemplate(InfraResource):
    DESCRIPTION = "What the clusters of a ClusterClass share in an OpenStack."
    KIND: ClassVar[Kind] = Kind(
        GROUP, VERSIONS[0], "OpenStackClusterTemplate", "openstackclustertemplates", short=("osct",), also=VERSIONS[1:],
        columns=(AGE,), categories=CATEGORIES, contract=CONTRACT,
    )  # fmt: skip
    spec: OpenStackClusterTemplateSpec = Field(description="The template.")
    status: InfraStatus = Field(default_factory=InfraStatus, description="Nothing is written here.")
