"""OpenStackDeployment: the whole cloud in one object, with the fields of the existing OpenStack Controller.

Every field of that system is declared here. Fields that this version does not support are marked `unsupported`: the CRD
(CEL) and the operator reject them by name, so that none is silently ignored.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from stackwright.api import reference
from stackwright.api.errors import NOT_SUPPORTED
from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import OptionalObjectName
from stackwright.api.meta import LCM, Column, Kind, Model, Resource, Status
from stackwright.api.rules import Change
from stackwright.api.services.helmbundle import FreeForm
from stackwright.api.services.kinds import SIZE_KEEPS_VOTERS, LogLevel, Release, Size
from stackwright.api.support import Absent, Unsupported, absent, unsupported
from stackwright.services.cinder.features import CephFeatures, CinderFeatures, DatabaseFeatures
from stackwright.services.ingress.certificates import Ssl
from stackwright.services.neutron.features import (
    GlanceFeatures,
    HorizonFeatures,
    KeystoneFeatures,
    MessagingFeatures,
    NeutronFeatures,
    NovaFeatures,
)

DOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


class Charts(Model):
    releases: FreeForm = Field(default_factory=dict, description="Chart name → {values} for that chart.")
    values: FreeForm = Field(default_factory=dict, description="Values for every chart of the group.")
    repositories: Unsupported = unsupported("Chart repositories.")


class Common(Model):
    """Values for several services; they override generated values, and `services` overrides them."""

    charts: Charts = Field(default_factory=Charts, description="Values for all charts, first of the three.")
    infra: Charts = Field(
        default_factory=Charts, description="Values for the charts of database, messaging, memcached, ingress."
    )
    openstack: Charts = Field(default_factory=Charts, description="Values for the OpenStack charts.")


class Artifacts(Model):
    images_base_url: Line = Field("", description="Not used: `--images` of the operator says where images come from.")
    binary_base_url: Line = Field("", description="Not used: nothing is downloaded while a cloud is deployed.")

    @property
    def given(self) -> list[str]:
        """Names of the fields that are not empty."""
        return [name for name, url in self if url]


class ServiceLogging(Model):
    level: LogLevel = Field("INFO", description="Log level of the service.")


class Cadf(Model):
    enabled: bool = Field(description="Send audit events.")
    driver: Literal["messagingv2", "log"] = Field("messagingv2", description="To the message bus or to the log.")


def _logging(name: str) -> Any:
    return Field(default_factory=ServiceLogging, description=f"Logging of {name}.")


class Logging(Model):
    keystone: ServiceLogging = _logging("Keystone")
    glance: ServiceLogging = _logging("Glance")
    cinder: ServiceLogging = _logging("Cinder")
    placement: ServiceLogging = _logging("Placement")
    nova: ServiceLogging = _logging("Nova")
    neutron: ServiceLogging = _logging("Neutron")
    horizon: ServiceLogging = _logging("Horizon")
    cadf: Cadf | None = Field(None, description="Audit events (CADF) of the identity service.")


SERVICES = (
    "block-storage",
    "ceph",
    "compute",
    "coordination",
    "dashboard",
    "database",
    "identity",
    "image",
    "ingress",
    "memcached",
    "messaging",
    "networking",
    "object-storage",
    "placement",
)
ServiceName = Literal[
    "block-storage", "ceph", "compute", "coordination", "dashboard", "database", "identity", "image", "ingress",
    "memcached", "messaging", "networking", "object-storage", "placement",
    "~block-storage", "~ceph", "~compute", "~coordination", "~dashboard", "~database", "~identity", "~image",
    "~ingress", "~memcached", "~messaging", "~networking", "~object-storage", "~placement",
]  # fmt: skip


class NetworkPolicies(Model):
    enabled: bool = Field(True, description="Let only declared connections through to the cloud's pods.")


class Features(Model):
    services: list[ServiceName] = Field(
        default_factory=list, description="Services beside those of the preset; ~name takes one away."
    )
    keystone: KeystoneFeatures = Field(default_factory=KeystoneFeatures, description="The identity service.")
    logging: Logging = Field(default_factory=Logging, description="Log levels and audit events.")
    network_policies: NetworkPolicies = Field(default_factory=NetworkPolicies, description="Network policies.")
    policies: Unsupported = unsupported("API policies.")
    ssl: Ssl = Field(default_factory=lambda: Ssl(), description="TLS of public endpoints.")
    glance: GlanceFeatures = Field(default_factory=GlanceFeatures, description="The image service.")
    ceph: CephFeatures = Field(default_factory=lambda: CephFeatures(), description="Storage in Ceph.")
    database: DatabaseFeatures = Field(default_factory=DatabaseFeatures, description="Clean-up of the databases.")
    telemetry: Unsupported = unsupported("Telemetry.")
    designate: Unsupported = unsupported("DNS service.")
    barbican: Unsupported = unsupported("Key manager.")
    cloudprober: Unsupported = unsupported("Cloud prober.")
    nova: NovaFeatures = Field(default_factory=lambda: NovaFeatures(), description="The compute service.")
    horizon: HorizonFeatures = Field(default_factory=lambda: HorizonFeatures(), description="The dashboard.")
    neutron: NeutronFeatures = Field(default_factory=lambda: NeutronFeatures(), description="The networking service.")
    messaging: MessagingFeatures = Field(default_factory=MessagingFeatures, description="The message buses.")
    ironic: Unsupported = unsupported("Bare metal service.")
    octavia: Unsupported = unsupported("Load balancer service.")
    stacklight: Absent | None = absent("StackLight.")
    cinder: CinderFeatures = Field(default_factory=CinderFeatures, description="The block storage service.")
    manila: Unsupported = unsupported("Shared file systems.")
    masakari: Unsupported = unsupported("Instance high availability.")

    @field_validator("services")
    @classmethod
    def _not_both(cls, value: list[str]) -> list[str]:
        if both := sorted({name for name in value if f"~{name}" in value}):
            raise ValueError(f"{', '.join(both)}: listed both with and without ~; remove one of the two")
        return value


class NodeOverride(Model):
    services: FreeForm = Field(
        default_factory=dict,
        description="service → chart → DaemonSet → {values}: values for the nodes with this label only.",
    )
    features: Unsupported = unsupported("Features of single nodes.")


class OpenStackDeploymentSpec(Model):
    openstack_version: Release = Field(description="OpenStack release; epoxy is 2025.1.")
    preset: Literal["core", "compute"] = Field(description="Which services are deployed.")
    size: Size = Field(description="How large the cloud is: replicas, workers, memory.")
    public_domain_name: str = Field(
        "it.just.works", pattern=DOMAIN, description="Domain of public endpoints: <service>.<domain>."
    )
    internal_domain_name: str = Field(
        "cluster.local", pattern=DOMAIN, description="DNS domain of the Kubernetes cluster."
    )
    region_name: Line = Field("RegionOne", min_length=1, description="Region name in the catalog.")
    draft: bool = Field(False, description="true: the operator leaves this object alone.")
    local_volume_storage_class: OptionalObjectName = Field(
        "", description="Storage class of local volumes (database, messaging); empty for the default class."
    )
    persistent_volume_storage_class: OptionalObjectName = Field(
        "", description="Storage class of volumes that are not local (images); empty for that of local ones."
    )
    artifacts: Artifacts = Field(default_factory=Artifacts, description="Taken and not used, which a condition says.")
    common: Common = Field(default_factory=Common, description="Values over the built ones, for many charts.")
    services: FreeForm = Field(
        default_factory=dict,
        description="service → chart → {values}: the final override of any value of any release.",
    )
    nodes: dict[Line, NodeOverride] = Field(
        default_factory=dict, description="label::value → overrides for the DaemonSets of those nodes."
    )
    features: Features = Field(default_factory=Features, description="What the cloud can do.")
    migration: Unsupported = unsupported("Migrations.")
    timeouts: Unsupported = unsupported("Waits of upgrades.")

    @field_validator("services")
    @classmethod
    def _services_are_known(cls, value: dict[str, Any]) -> dict[str, Any]:
        others = set(value) - set(SERVICES)
        told = [f"{name} {NOT_SUPPORTED}; remove it" for name in sorted(others & reference.SERVICES)]
        if unknown := sorted(others - reference.SERVICES):
            told.append(f"unknown service {', '.join(unknown)}; allowed: {', '.join(sorted(SERVICES))}")
        if told:
            raise ValueError("; ".join(told))
        return value


class Child(Model):
    ready: bool = Field(description="Whether all releases of the HelmBundle are deployed and ready.")
    message: str = Field("", description="What it waits for, or why it failed.")


class ServiceState(Model):
    state: str = Field("", description="WAITING, APPLYING, APPLIED or DELETING.")
    openstack_version: str = Field("", description="Release that is deployed.")
    message: str = Field("", description="What it waits for.")


class ComponentHealth(Model):
    status: Literal["Ready", "Unhealthy"] = Field(description="Whether all pods of the component are ready.")
    generation: int = Field(0, description="Generation of the workload that was observed.")
    message: str = Field("", description="Why it is unhealthy.")


class OpenStackDeploymentStatus(Status):
    version: str = Field("", description="OpenStack release that is deployed.")
    progress: str = Field("", description="Services that are ready of all, as n/m.")
    healthSummary: str = Field("", description="Components that are ready of all, as n/m.")
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
    spec: OpenStackDeploymentSpec = Field(description="The cloud that is wanted.")
    status: OpenStackDeploymentStatus = Field(
        default_factory=OpenStackDeploymentStatus, description="The cloud as it is."
    )
