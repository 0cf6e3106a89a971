"""OpenStackControlPlane: the cloud in one object, with the field shape of the openstack-k8s-operators.

It is the second entry beside OpenStackDeployment, and stands for the same service objects. A section that is absent is
off; one that is there without `enabled` is as in the reference. What this version does not honour is refused by its
name. Sections of services that Stackwright does not have may be off, in the way of the reference, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, StrictBool, model_validator
from pydantic.functional_validators import AfterValidator
from pydantic_core import PydanticCustomError

from stackwright.api.controlplane_templates import (
    BusReference,
    GaleraTemplates,
    GlanceTemplate,
    HorizonTemplate,
    KeystoneTemplate,
    MemcachedTemplates,
    NeutronTemplate,
    NovaTemplate,
    PlacementTemplate,
    RabbitTemplates,
)
from stackwright.api.deployment import ServiceState
from stackwright.api.errors import UNSUPPORTED
from stackwright.api.features import Unsupported, UnsupportedList, unsupported
from stackwright.api.meta import CamelModel, Column, Kind, Resource, Status
from stackwright.api.naming import ObjectName, OptionalObjectName

CORE = "core.openstack.org"
STAGE = f"{CORE}/deployment-stage"
INFRASTRUCTURE_ONLY = "infrastructure-only"


UNKNOWN = "is not supported by this version of Stackwright"
NOT_YET = f"{UNKNOWN}; remove it, or write enabled: false"


def _off(value: bool) -> bool:
    if value:
        raise ValueError(f"{UNKNOWN}; only enabled: false is accepted")
    return value


def _rule(rule: str, message: str, **more: str) -> dict[str, Any]:
    return {"rule": rule, "message": message, "reason": "FieldValueForbidden", **more}


_OFF: dict[str, Any] = _rule(
    "!has(self.enabled) || !self.enabled", f"{UNKNOWN}; only enabled: false is accepted", fieldPath=".enabled"
)


class OffAnyway(CamelModel):
    """What Stackwright does not have, and what is off in the reference where nothing is said of it.

    Whatever else stands in a section that is off means nothing, here as there.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"x-kubernetes-validations": [_OFF]})
    # By a factory, which the CRD does not show: the API server would fill in a default, and Absent could not refuse.
    enabled: Annotated[StrictBool, AfterValidator(_off)] = Field(
        default_factory=lambda: False, description="false: nothing else is supported."
    )


class Absent(OffAnyway):
    """The same of what is on in the reference where nothing is said of it, so `enabled: false` must be written."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"x-kubernetes-validations": [_OFF, _rule("has(self.enabled)", NOT_YET)]}
    )

    @model_validator(mode="before")
    @classmethod
    def _not_there(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "enabled" not in value:
            raise PydanticCustomError(UNSUPPORTED, NOT_YET)
        return value


class Section(CamelModel):
    enabled: bool = Field(True, description="Whether the service is deployed.")
    application_credential: Unsupported = unsupported("Application credentials.")


class Api(Section):
    api_override: Unsupported = unsupported("Routes and their certificates.")


class KeystoneSection(Api):
    template: KeystoneTemplate = Field(default_factory=lambda: KeystoneTemplate(), description="The service.")


class GlanceSection(Section):
    template: GlanceTemplate = Field(default_factory=lambda: GlanceTemplate(), description="The service.")
    unique_pod_names: Unsupported = unsupported("Names of pods.")
    service_name: Unsupported = unsupported("Name of the Glance object.")
    api_overrides: Unsupported = unsupported("Routes and their certificates.")


class PlacementSection(Api):
    template: PlacementTemplate = Field(default_factory=lambda: PlacementTemplate(), description="The service.")


class NeutronSection(Api):
    template: NeutronTemplate = Field(default_factory=lambda: NeutronTemplate(), description="The service.")


class NovaSection(Api):
    template: NovaTemplate = Field(default_factory=lambda: NovaTemplate(), description="The service.")
    cell_override: Unsupported = unsupported("Routes of cells.")


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
    ingress: Absent | None = Field(None, description="TLS of routes: not supported, false only.")
    pod_level: Absent | None = Field(None, description="TLS between pods: not supported, false only.")
    ca_bundle_secret_name: Unsupported = unsupported("Further certificate authorities.")


def _absent(what: str) -> Any:
    return Field(None, description=f"{what} Not there in this version: false only.")


# A service → the sections it cannot do without.
NEEDS = {
    "keystone": ("galera", "memcached"),
    "glance": ("galera", "memcached", "rabbitmq", "keystone"),
    "placement": ("galera", "memcached", "keystone"),
    "neutron": ("galera", "memcached", "rabbitmq", "keystone"),
    "nova": ("galera", "memcached", "rabbitmq", "keystone", "placement", "neutron", "glance"),
    "horizon": ("memcached", "keystone"),
}


class OpenStackControlPlaneSpec(CamelModel):
    secret: ObjectName = Field(description="Secret with the administrator's password, key AdminPassword.")
    storage_class: OptionalObjectName = Field(description="Storage class of all volumes; empty for the default class.")
    keystone: KeystoneSection | None = Field(None, description="The identity service.")
    glance: GlanceSection | None = Field(None, description="The image service.")
    placement: PlacementSection | None = Field(None, description="The placement service.")
    neutron: NeutronSection | None = Field(None, description="The networking service.")
    nova: NovaSection | None = Field(None, description="The compute service.")
    horizon: HorizonSection | None = Field(None, description="The dashboard.")
    galera: GaleraSection | None = Field(None, description="The database.")
    rabbitmq: RabbitSection | None = Field(None, description="The message buses.")
    memcached: MemcachedSection | None = Field(None, description="The cache.")
    messaging_bus: BusReference | None = Field(None, description="The bus of services that have none of their own.")
    notifications_bus: BusReference | None = Field(None, description="The bus of notifications.")
    tls: Tls | None = Field(None, description="TLS inside the cluster.")
    node_selector: Unsupported = unsupported("Label of nodes; Stackwright's own labels place pods.")
    topology_ref: Unsupported = unsupported("Topologies.")
    extra_mounts: UnsupportedList = unsupported("Further volumes.")
    application_credential: OffAnyway | None = _absent("Application credentials.")
    openstackclient: Unsupported = unsupported("The client; Keystone brings one along.")
    barbican: Absent | None = _absent("Key manager.")
    cinder: Absent | None = _absent("Block storage.")
    designate: OffAnyway | None = _absent("DNS service.")
    dns: Absent | None = _absent("dnsmasq for hosts outside Kubernetes.")
    heat: OffAnyway | None = _absent("Orchestration.")
    ironic: OffAnyway | None = _absent("Bare metal service.")
    manila: OffAnyway | None = _absent("Shared file systems.")
    octavia: OffAnyway | None = _absent("Load balancer service.")
    ovn: Absent | None = _absent("OVN as a section; neutron.template.ml2MechanismDrivers chooses it.")
    redis: OffAnyway | None = _absent("Redis.")
    swift: Absent | None = _absent("Object storage.")
    telemetry: Absent | None = _absent("Telemetry.")
    watcher: OffAnyway | None = _absent("Optimization service.")

    @model_validator(mode="after")
    def _complete(self) -> OpenStackControlPlaneSpec:
        lacking = [
            f"{name} needs {need}: write {need} with enabled: true, or {name} with enabled: false"
            for name, needs in NEEDS.items()
            for need in needs
            if self.on(name) and not self.on(need)
        ]
        if lacking:
            raise ValueError("; ".join(lacking))
        return self

    def on(self, section: str) -> bool:
        """Whether a section is there and enabled."""
        found = getattr(self, section)
        return bool(found and found.enabled)


class OpenStackControlPlaneStatus(Status):
    version: str = Field("", description="OpenStack release that is deployed.")
    progress: str = Field("", description="Services that are ready of all, as n/m.")
    services: dict[str, ServiceState] = Field(default_factory=dict, description="State of each service.")


class OpenStackControlPlane(Resource):
    DESCRIPTION = "An OpenStack cloud, as the openstack-k8s-operators write it."
    KIND: ClassVar[Kind] = Kind(
        CORE, "v1beta1", "OpenStackControlPlane", "openstackcontrolplanes", short=("oscp", "osctlplane"),
        columns=(
            Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
            Column("Progress", ".status.progress"),
            Column("Message", '.status.conditions[?(@.type=="Ready")].message'),
            Column("Age", ".metadata.creationTimestamp", "date"),
        ),
    )  # fmt: skip
    spec: OpenStackControlPlaneSpec = Field(description="The cloud that is wanted.")
    status: OpenStackControlPlaneStatus = Field(
        default_factory=OpenStackControlPlaneStatus, description="The cloud as it is."
    )
