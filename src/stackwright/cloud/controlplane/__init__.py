"""OpenStackControlPlane: the cloud in one object, with the fields of the openstack-k8s-operators.

It is an alternative to OpenStackDeployment and results in the same service objects. An absent section is disabled; a
section without `enabled` has the default of the reference. Unsupported fields are rejected by name. A section of a
service that Stackwright does not have may only be disabled, as in the reference. What a disabled section contains is
not judged here; the CRD, whose rules cannot see `enabled` above them, still refuses unsupported fields when written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from stackwright.api.fields.naming import ObjectName, OptionalObjectName
from stackwright.api.meta import CamelModel, Column, Kind, Resource, Status
from stackwright.api.rules import Change, at, maybe
from stackwright.api.services.voters import DEFAULT, voter_error
from stackwright.api.support import (
    Absent,
    OffAnyway,
    Unsupported,
    UnsupportedFlag,
    UnsupportedList,
    UnsupportedMap,
    UnsupportedText,
    absent,
    unsupported,
    unused,
)
from stackwright.cloud.controlplane.infrastructure import GaleraTemplates, MemcachedTemplates, RabbitTemplates
from stackwright.cloud.controlplane.pods import Bus, BusReference
from stackwright.cloud.controlplane.services import (
    BarbicanTemplate,
    DesignateTemplate,
    GlanceTemplate,
    HeatTemplate,
    HorizonTemplate,
    KeystoneTemplate,
    NeutronTemplate,
    NovaTemplate,
    PlacementTemplate,
)
from stackwright.cloud.deployment import ServiceState
from stackwright.services.declaration import Service
from stackwright.services.registry import BY_SERVICE, SERVICES

CORE = "core.openstack.org"
STAGE = f"{CORE}/deployment-stage"
INFRASTRUCTURE_ONLY = "infrastructure-only"


class Section(CamelModel):
    enabled: bool = Field(True, description="Whether the service is deployed.")
    application_credential: OffAnyway | None = absent("Application credentials.")

    @model_validator(mode="before")
    @classmethod
    def _off(cls, value: Any) -> Any:
        """Other fields of a disabled section are ignored, as those of an unsupported section."""
        if not isinstance(value, Mapping):
            return value
        enabled = value.get("enabled")
        default = cls.model_fields["enabled"].default
        return {"enabled": False} if (default if enabled is None else enabled) is False else value


class ApiOverride(CamelModel):
    route: UnsupportedMap = unsupported("Fields of the route.")
    tls: UnsupportedMap = unsupported("Its certificate.")


class Api(Section):
    api_override: ApiOverride | None = Field(None, description="Route of the API: not supported, empty only.")


class KeystoneSection(Api):
    template: KeystoneTemplate = Field(default_factory=lambda: KeystoneTemplate(), description="The service.")


class GlanceSection(Section):
    template: GlanceTemplate = Field(default_factory=lambda: GlanceTemplate(), description="The service.")
    unique_pod_names: UnsupportedFlag = unsupported("Names of pods.")
    service_name: UnsupportedText = unsupported("Name of the Glance object.")
    api_overrides: Unsupported = unsupported("Routes and their certificates.")


class PlacementSection(Api):
    template: PlacementTemplate = Field(default_factory=lambda: PlacementTemplate(), description="The service.")


class NeutronSection(Api):
    template: NeutronTemplate = Field(default_factory=lambda: NeutronTemplate(), description="The service.")


class NovaSection(Api):
    template: NovaTemplate = Field(default_factory=lambda: NovaTemplate(), description="The service.")
    cell_override: Unsupported = unsupported("Routes of cells.")


class HeatSection(Api):
    enabled: bool = Field(False, description="Whether the orchestration service is deployed.")
    template: HeatTemplate = Field(default_factory=lambda: HeatTemplate(), description="The service.")
    cnf_api_override: ApiOverride | None = Field(
        None, alias="cnfAPIOverride", description="Route of its second API: not supported, empty only."
    )


class BarbicanSection(Api):
    template: BarbicanTemplate = Field(default_factory=lambda: BarbicanTemplate(), description="The service.")


class DesignateSection(Api):
    enabled: bool = Field(False, description="Whether the DNS service is deployed.")
    template: DesignateTemplate = Field(default_factory=lambda: DesignateTemplate(), description="The service.")


class HorizonSection(Api):
    enabled: bool = Field(False, description="Whether the dashboard is deployed.")
    template: HorizonTemplate = Field(default_factory=lambda: HorizonTemplate(), description="The service.")


class GaleraSection(Section):
    templates: GaleraTemplates = Field(default_factory=lambda: GaleraTemplates(), description="The databases.")


class RabbitSection(Section):
    templates: RabbitTemplates = Field(default_factory=lambda: RabbitTemplates(), description="The message buses.")


class MemcachedSection(Section):
    templates: MemcachedTemplates = Field(default_factory=lambda: MemcachedTemplates(), description="The caches.")


class Tls(CamelModel):
    ingress: Absent | None = Field(None, description="TLS of routes; not supported, only false is allowed.")
    pod_level: Absent | None = Field(None, description="TLS between pods; not supported, only false is allowed.")
    ca_bundle_secret_name: UnsupportedText = unsupported("Additional CA certificates.")


class ClientTemplate(CamelModel):
    """No field is supported."""

    UNDECLARED: ClassVar[str] = "containerImage env nodeSelector topologyRef"


class Client(CamelModel):
    template: ClientTemplate | None = Field(None, description="Settings of its pod; not supported.")


# What the reference requires in addition to the declarations: memcached for all, and for Nova two services.
_ALSO = {"nova": ("placement", "glance")}
_ORDER = ("galera", "memcached", "rabbitmq", "keystone", "placement", "neutron", "glance")  # of errors


def _needs(declared: Service, required: Iterable[str]) -> tuple[str, ...]:
    sections = {BY_SERVICE[name].section for name in required} - {""}
    return tuple(sorted({*sections, "memcached", *_ALSO.get(declared.section, ())}, key=_ORDER.index))


# Section of a service → sections that it requires.
NEEDS = {
    each.section: _needs(each, each.requires(each.settings())) for each in SERVICES if each.section and each.requires
}


class OpenStackControlPlaneSpec(CamelModel):
    secret: ObjectName = Field(description="Secret with the administrator's password, key AdminPassword.")
    storage_class: OptionalObjectName = Field(description="Storage class of all volumes; empty for the default class.")
    keystone: KeystoneSection | None = Field(None, description="The identity service.")
    glance: GlanceSection | None = Field(None, description="The image service.")
    placement: PlacementSection | None = Field(None, description="The placement service.")
    neutron: NeutronSection | None = Field(None, description="The networking service.")
    nova: NovaSection | None = Field(None, description="The compute service.")
    heat: HeatSection | None = Field(None, description="The orchestration service.")
    barbican: BarbicanSection | None = Field(None, description="The key manager.")
    designate: DesignateSection | None = Field(None, description="The DNS service.")
    horizon: HorizonSection | None = Field(None, description="The dashboard.")
    galera: GaleraSection | None = Field(None, description="The database.")
    rabbitmq: RabbitSection | None = Field(None, description="The message buses.")
    memcached: MemcachedSection | None = Field(None, description="The cache.")
    messaging_bus: BusReference | None = Field(None, description="The message bus of services without their own one.")
    notifications_bus: BusReference | None = Field(None, description="The message bus of notifications.")
    notifications_bus_instance: Bus = Field("rabbitmq", description="The message bus of notifications.")
    tls: Tls | None = Field(None, description="TLS inside the cluster.")
    node_selector: UnsupportedMap = unsupported("Label of nodes; Stackwright's own labels place pods.")
    topology_ref: Unsupported = unsupported("Topologies.")
    extra_mounts: UnsupportedList = unsupported("Further volumes.")
    application_credential: OffAnyway | None = absent("Application credentials.")
    openstackclient: Client | None = unused(None, "Keystone includes a client pod.")
    cinder: Absent | None = absent("Block storage.")
    dns: Absent | None = absent("dnsmasq for hosts outside Kubernetes.")
    ironic: OffAnyway | None = absent("Bare metal service.")
    manila: OffAnyway | None = absent("Shared file systems.")
    octavia: OffAnyway | None = absent("Load balancer service.")
    ovn: Absent | None = absent("OVN; neutron.template.ml2MechanismDrivers selects it.")
    redis: OffAnyway | None = absent("Redis.")
    swift: Absent | None = absent("Object storage.")
    telemetry: Absent | None = absent("Telemetry.")
    watcher: OffAnyway | None = absent("Optimization service.")

    @model_validator(mode="after")
    def _complete(self) -> OpenStackControlPlaneSpec:
        lacking = [
            f"{name} requires {need}: set enabled: true in {need}, or enabled: false in {name}"
            for name, needs in NEEDS.items()
            for need in needs
            if self.on(name) and not self.on(need)
        ]
        if lacking:
            raise ValueError("; ".join(lacking))
        return self

    def on(self, section: str) -> bool:
        """Whether a section is present and enabled."""
        found = getattr(self, section)
        return bool(found and found.enabled)


class OpenStackControlPlaneStatus(Status):
    version: str = Field("", description="Deployed OpenStack release.")
    progress: str = Field("", description="Ready services of all services, as n/m.")
    services: dict[str, ServiceState] = Field(default_factory=dict, description="State of each service.")


_DATABASES = "spec.galera.templates.openstack.replicas"
REPLICAS_KEEP_VOTERS = Change(
    _DATABASES,
    "cannot be reduced to 1: one server of three has no majority; allowed: 3",
    f"!has(self.spec.galera) || {maybe(_DATABASES)}.orValue(1) >= {maybe(_DATABASES, 'oldSelf')}.orValue(1)",
    lambda old, new: (
        at(new, "spec.galera") is not None
        and bool(voter_error(at(old, _DATABASES) or DEFAULT, at(new, _DATABASES) or DEFAULT))
    ),
)


class OpenStackControlPlane(Resource):
    DESCRIPTION = "An OpenStack cloud, in the format of the openstack-k8s-operators."
    CHANGES: ClassVar[tuple[Change, ...]] = (REPLICAS_KEEP_VOTERS,)
    KIND: ClassVar[Kind] = Kind(
        CORE, "v1beta1", "OpenStackControlPlane", "openstackcontrolplanes", short=("oscp", "osctlplane"),
        columns=(
            Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
            Column("Progress", ".status.progress"),
            Column("Message", '.status.conditions[?(@.type=="Ready")].message'),
            Column("Age", ".metadata.creationTimestamp", "date"),
        ),
    )  # fmt: skip
    spec: OpenStackControlPlaneSpec = Field(description="Desired state of the cloud.")
    status: OpenStackControlPlaneStatus = Field(
        default_factory=OpenStackControlPlaneStatus, description="Observed state of the cloud."
    )
