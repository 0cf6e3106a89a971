"""OpenStackDeployment: the whole cloud in one object, with the fields of the existing OpenStack Controller.

Every field of that system is declared here. Fields that this version does not support are marked `unsupported`: the CRD
(CEL) and the operator reject them by name, so that none is silently ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from stackwright.api.errors import NOT_SUPPORTED, name_of
from stackwright.api.fields.lines import Line, Short
from stackwright.api.fields.naming import Format, OptionalObjectName
from stackwright.api.meta import LCM, Column, Kind, Model, Resource, Status
from stackwright.api.rules import ERRORS, Change
from stackwright.api.services.helmbundle import FreeForm
from stackwright.api.services.kinds import OPENSTACK_RELEASE, OPENSTACK_VERSION, Release, Size
from stackwright.api.services.voters import SIZE_KEEPS_VOTERS
from stackwright.api.support import Unsupported, unsupported, unused
from stackwright.api.wording import unknown
from stackwright.cloud.features import Features
from stackwright.cloud.service_names import PROGRAMS, SERVICES, UNSUPPORTED
from stackwright.services.declaration import Preset

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_DNS_NAME = "must be a DNS name of lower-case letters, digits, '-' and '.', at most 63 characters between dots"
# 253 is the limit of a whole name, in which the label of a service precedes the domain.
Domain = Annotated[str, Format(rf"{_LABEL}(\.{_LABEL})*", 253 - 64, _DNS_NAME)]


class Charts(Model):
    UNDECLARED: ClassVar[str] = "repo"
    releases: FreeForm = Field(default_factory=dict, description="Chart name → {values} for that chart.")
    values: FreeForm = Field(default_factory=dict, description="Values for every chart of the group.")
    repositories: Unsupported = unsupported("Chart repositories.")


class Common(Model):
    """Values for several services; they override generated values, and `services` overrides them."""

    charts: Charts = Field(
        default_factory=Charts, description="Values for all charts, applied before those of the groups."
    )
    infra: Charts = Field(
        default_factory=Charts,
        description="Values for the charts of databases, buses, memcached, etcd, Ceph and ingress.",
    )
    openstack: Charts = Field(default_factory=Charts, description="Values for the OpenStack charts.")


class Artifacts(Model):
    images_base_url: Line = unused("", "the operator's option --images sets the registry of all images.")
    binary_base_url: Line = unused("", "a deployment downloads no binaries.")


class NodeOverride(Model):
    services: FreeForm = Field(
        default_factory=dict,
        description="service → chart → DaemonSet → {values}: values for the nodes with this label only.",
    )
    features: Unsupported = unsupported("Features of individual nodes.")


class OpenStackDeploymentSpec(Model):
    openstack_version: Release = Field(description=f"OpenStack release; {OPENSTACK_RELEASE} is {OPENSTACK_VERSION}.")
    preset: Preset = Field(description="Preset of deployed services.")
    size: Size = Field(description="Size of the cloud: replicas, workers, memory.")
    public_domain_name: Domain = Field("it.just.works", description="Domain of public endpoints: <service>.<domain>.")
    internal_domain_name: Domain = Field("cluster.local", description="DNS domain of the Kubernetes cluster.")
    region_name: Short = Field("RegionOne", min_length=1, description="Region name in the catalog.")
    draft: bool = Field(False, description="true: the operator does not process this object.")
    local_volume_storage_class: OptionalObjectName = Field(
        "", description="Storage class of local volumes (database, messaging); empty for the default class."
    )
    persistent_volume_storage_class: OptionalObjectName = Field(
        "", description="Storage class of other volumes (images); empty for the class of local volumes."
    )
    artifacts: Artifacts = Field(
        default_factory=Artifacts, description="Accepted but not used; the condition UnusedFields names the fields."
    )
    common: Common = Field(default_factory=Common, description="Overrides of built values, for groups of charts.")
    services: FreeForm = Field(
        default_factory=dict,
        description="service → chart → {values}: the final override of any value of any release.",
    )
    nodes: dict[Line, NodeOverride] = Field(
        default_factory=dict, description="label::value → overrides for the DaemonSets of those nodes."
    )
    features: Features = Field(default_factory=Features, description="Features of the cloud.")
    migration: Unsupported = unsupported("Migrations.")
    timeouts: Unsupported = unsupported("Timeouts of upgrades.")

    @field_validator("services")
    @classmethod
    def _services_are_known(cls, value: dict[str, Any]) -> dict[str, Any]:
        others = set(value) - set(SERVICES)
        problems = [f"{name} {NOT_SUPPORTED}; remove it" for name in sorted(others & UNSUPPORTED)]
        if wrong := sorted(others - UNSUPPORTED):
            problems.append(unknown("service", [*map(name_of, wrong[:ERRORS])], SERVICES, PROGRAMS))
        if problems:
            raise ValueError("; ".join(problems))
        return value


class Child(Model):
    ready: bool = Field(description="Whether all releases of the HelmBundle are deployed and ready.")
    message: str = Field("", description="Cause of a wait or failure.")


class ServiceState(Model):
    state: str = Field("", description="WAITING, APPLYING, APPLIED or DELETING.")
    openstack_version: str = Field("", description="Deployed OpenStack release.")
    message: str = Field("", description="Cause of a wait.")


class ComponentHealth(Model):
    status: Literal["Ready", "Unhealthy"] = Field(description="Whether all pods of the component are ready.")
    generation: int = Field(0, description="Observed generation of the workload.")
    message: str = Field("", description="Cause if the component is unhealthy.")


class OpenStackDeploymentStatus(Status):
    version: str = Field("", description="Deployed OpenStack release.")
    progress: str = Field("", description="Ready services of all services, as n/m.")
    healthSummary: str = Field("", description="Ready components of all components, as n/m.")
    children: dict[str, Child] = Field(default_factory=dict, description="State of each HelmBundle.")
    services: dict[str, ServiceState] = Field(default_factory=dict, description="State of each service.")
    health: dict[str, dict[str, ComponentHealth]] = Field(
        default_factory=dict, description="application → component → health of its workload."
    )


class OpenStackDeployment(Resource):
    DESCRIPTION = "An OpenStack cloud on this Kubernetes cluster."
    CHANGES: ClassVar[tuple[Change, ...]] = (SIZE_KEEPS_VOTERS,)
    KIND: ClassVar[Kind] = Kind(
        LCM, "v1alpha1", "OpenStackDeployment", "openstackdeployments", short=("osdpl",),
        columns=(
            Column("OpenStack", ".spec.openstack_version"),
            Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
            Column("Progress", ".status.progress"),
            Column("Health", ".status.healthSummary"),
            Column("Message", '.status.conditions[?(@.type=="Ready")].message'),
            Column("Age", ".metadata.creationTimestamp", "date"),
            Column("Draft", ".spec.draft", "boolean", priority=1),
        ),
    )  # fmt: skip
    spec: OpenStackDeploymentSpec = Field(description="Desired state of the cloud.")
    status: OpenStackDeploymentStatus = Field(
        default_factory=OpenStackDeploymentStatus, description="Observed state of the cloud."
    )
