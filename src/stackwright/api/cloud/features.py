"""Features that each service supports: the same models in `spec.features` of a cloud and in a service object.

`features.nova` of an OpenStackDeployment and `spec.settings` of a Nova have the same fields, so a user of a single
service knows them already. Fields of the reference that are not supported yet are rejected by name.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import Format, ObjectName, OptionalObjectName, SecretKeyName
from stackwright.api.meta import Model
from stackwright.api.support import (
    Absent,
    OffAnyway,
    Unsupported,
    UnsupportedList,
    UnsupportedText,
    absent,
    unsupported,
)


def _address(value: str) -> str:
    ipaddress.ip_address(value)
    return value


def _network(value: str) -> str:
    ipaddress.ip_network(value)
    return value


Address = Annotated[Line, AfterValidator(_address)]
Network = Annotated[Line, AfterValidator(_network)]
InterfaceName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,14}$")]
PhysnetName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$")]
Quantity = Annotated[
    str,
    Format(
        r"([0-9]*[1-9][0-9]*(\.[0-9]+)?|0+\.[0-9]*[1-9][0-9]*)(Ki|Mi|Gi|Ti|k|M|G|T)?",
        32,
        "must be a number above 0 with a unit, such as 20Gi",
    ),
]


class SecretKey(Model):
    name: ObjectName = Field(description="Secret in the namespace of the cloud.")
    key: SecretKeyName = Field(description="Key in the Secret.")


class ValueFrom(Model):
    secret_key_ref: SecretKey = Field(description="Reference to the value.")


class SecretValue(Model):
    """A reference to a text in a Secret, because many users may read the object and the text may be confidential."""

    value_from: ValueFrom = Field(description="Read the value from a Secret.")


# --- identity


class KeystoneAdmin(Model):
    project_name: Line = Field("admin", min_length=1, description="Project of the administrator.")
    user_domain_name: Literal["Default"] = Field("Default", description="Domain of the administrator.")
    project_domain_name: Literal["Default"] = Field("Default", description="Domain of the project.")
    default_domain_id: UnsupportedText = unsupported("Id of the default domain.")


class KeystoneUsers(Model):
    admin: KeystoneAdmin = Field(default_factory=KeystoneAdmin, description="The administrator.")


class KeystoneFederation(Model):
    openid: Absent | None = absent("OpenID Connect.")


class KeystoneFeatures(Model):
    users: KeystoneUsers = Field(default_factory=KeystoneUsers, description="Names of built-in users.")
    federation: KeystoneFederation | None = Field(None, description="Users of other domains.")
    keycloak: OffAnyway | None = absent("Keycloak.")
    domain_specific_configuration: Absent | None = absent("Domains with their own back end.")


# --- image


class GlanceVolume(Model):
    size: Quantity = Field(description="Size of the volume.")
    storage_class_name: OptionalObjectName = Field(
        "", description="Storage class; empty for persistent_volume_storage_class, or else the class of local volumes."
    )


class GlanceFileBackend(Model):
    default: bool = Field(False, description="Whether this is the default store of images.")
    pvc: GlanceVolume = Field(description="The volume for images.")


class GlanceStore(Model):
    default: bool = Field(False, description="Whether this is the default store of images.")


# Sections that glance-api.conf has anyway; each store adds a section.
_GLANCE_SECTIONS = {"database", "glance_store", "keystone_authtoken", "paste_deploy", "cors", "healthcheck"}


def _store_names(value: dict[str, Any]) -> dict[str, Any]:
    for name in value:
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name):
            raise ValueError(f"{name!r} is not a valid name of a store; allowed: lower-case letters, digits, _ and -")
        if name in _GLANCE_SECTIONS or name.startswith(("os_glance_", "oslo_", "task")):
            raise ValueError(f"{name} is reserved for another section of glance-api.conf; choose another name")
    return value


class GlanceBackends(Model):
    file: Annotated[dict[Line, GlanceFileBackend], AfterValidator(_store_names)] = Field(
        default_factory=dict, max_length=1, description="name → images in files on a volume; one at most."
    )
    rbd: Annotated[dict[Line, GlanceStore], AfterValidator(_store_names)] = Field(
        default_factory=dict, max_length=1, description="name → images in Ceph; one at most."
    )
    cinder: Annotated[dict[Line, GlanceStore], AfterValidator(_store_names)] = Field(
        default_factory=dict, max_length=1, description="name → images in Cinder volumes; one at most."
    )

    @property
    def stores(self) -> dict[str, GlanceStore | GlanceFileBackend]:
        return {**self.rbd, **self.file, **self.cinder}

    @model_validator(mode="after")
    def _one_default(self) -> GlanceBackends:
        count = len(self.file) + len(self.rbd) + len(self.cinder)
        if count != len(self.stores):
            raise ValueError("two stores have the same name")
        defaults = [name for name, store in self.stores.items() if store.default]
        if len(defaults) > 1 or (count > 1 and not defaults):
            raise ValueError(
                f"exactly one of several stores must be the default; defaults: {', '.join(defaults) or 'none'}"
            )
        return self


class GlanceFeatures(Model):
    backends: GlanceBackends = Field(default_factory=GlanceBackends, description="Stores of images.")
    signature: Absent | None = absent("Signed images.")


# --- compute


class AllocationRatios(Model):
    cpu: float = Field(4.0, gt=0, description="Virtual CPUs per physical CPU.")
    disk: float = Field(1.0, gt=0, description="Virtual disk space per physical disk space.")
    ram: float = Field(1.0, gt=0, description="Virtual memory per physical memory.")


class NovaImages(Model):
    backend: Literal["local", "qcow2", "raw", "ceph"] = Field(
        "local",
        description="Disks of instances: local and qcow2 are copy-on-write files, raw plain files, ceph in Ceph.",
    )
    encryption: OffAnyway | None = absent("Encrypted disks.")
    lvm: Unsupported = unsupported("Disks in LVM.")


class Enabled(Model):
    enabled: bool = Field(description="Whether it is enabled.")


class AlwaysOn(Model):
    enabled: Literal[True] = Field(True, description="Always enabled.")


class NoVnc(Model):
    enabled: bool = Field(True, description="Console in the browser by noVNC.")
    tls: AlwaysOn = Field(default_factory=AlwaysOn, description="TLS between proxy and hypervisor.")


class NovaConsole(Model):
    novnc: NoVnc = Field(default_factory=NoVnc, description="noVNC.")
    spice: OffAnyway | None = absent("SPICE.")


class NovaLibvirt(Model):
    tls: Enabled = Field(default=Enabled(enabled=True), description="TLS of live migration.")


class NovaFeatures(Model):
    live_migration_interface: InterfaceName | None = Field(
        None, description="Network interface of the nodes for live migration; default: the node's address."
    )
    allocation_ratios: AllocationRatios = Field(
        default_factory=AllocationRatios, description="Overcommit ratios of nodes."
    )
    vcpu_type: Line | None = Field(None, description="CPU model of instances, as libvirt names it.")
    images: NovaImages = Field(default_factory=NovaImages, description="Storage of instances' disks.")
    console: NovaConsole = Field(default_factory=NovaConsole, description="Consoles of instances.")
    libvirt: NovaLibvirt = Field(default_factory=NovaLibvirt, description="The daemon of the hypervisor.")


# --- networking


class ExternalNetwork(Model):
    physnet: PhysnetName = Field(description="Name of the physical network in Neutron.")
    bridge: InterfaceName = Field(description="Open vSwitch bridge that is connected to it.")
    interface: InterfaceName | None = Field(None, description="Network interface of the nodes that joins the bridge.")
    network_types: list[Literal["flat", "vlan"]] = Field(min_length=1, description="Kinds of provider networks on it.")
    vlan_ranges: str | None = Field(
        None,
        pattern=r"^[0-9]{1,4}:[0-9]{1,4}(,[0-9]{1,4}:[0-9]{1,4})*$",
        description="VLANs for tenants, first:last[,first:last].",
    )
    mtu: int | None = Field(None, ge=68, le=65535, description="MTU of the physical network.")

    @model_validator(mode="after")
    def _vlans(self) -> ExternalNetwork:
        for vlans in (self.vlan_ranges or "").split(","):
            first, _, last = vlans.partition(":")
            if vlans and not 1 <= int(first) <= int(last) <= 4094:
                raise ValueError(f"vlan_ranges: {vlans} is not a range within 1:4094")
        return self


class FloatingSubnet(Model):
    range: Network = Field(description="The subnet, e.g. 172.24.4.0/24.")
    pool_start: Address = Field(description="First floating IP.")
    pool_end: Address = Field(description="Last floating IP.")
    gateway: Address = Field(description="Gateway of the subnet.")
    name: Line = Field("public-subnet", min_length=1, description="Name of the subnet.")

    @model_validator(mode="after")
    def _inside(self) -> FloatingSubnet:
        network = ipaddress.ip_network(self.range)
        for name in ("pool_start", "pool_end", "gateway"):
            if ipaddress.ip_address(getattr(self, name)) not in network:
                raise ValueError(f"{name} {getattr(self, name)} is not in range {self.range}")
        first, gateway, last = (
            int(ipaddress.ip_address(each)) for each in (self.pool_start, self.gateway, self.pool_end)
        )
        if first > last:
            raise ValueError(f"pool_start {self.pool_start} is after pool_end {self.pool_end}")
        if first <= gateway <= last:
            raise ValueError(f"gateway {self.gateway} is inside the pool {self.pool_start} to {self.pool_end}")
        return self


class FloatingRouter(Model):
    name: Line = Field("r1", min_length=1, description="Name of the router.")


class FloatingNetwork(Model):
    enabled: bool = Field(False, description="Create the network of floating IPs.")
    name: Line = Field("public", min_length=1, description="Its name.")
    physnet: PhysnetName | None = Field(None, description="Physical network, one of external_networks.")
    network_type: Literal["flat", "vlan"] = Field("flat", description="Kind of provider network.")
    segmentation_id: int | None = Field(None, ge=1, le=4094, description="VLAN of a network of type vlan.")
    subnet: FloatingSubnet | None = Field(None, description="Its subnet.")
    router: FloatingRouter = Field(default_factory=FloatingRouter, description="A router of the administrator.")

    @model_validator(mode="after")
    def _complete(self) -> FloatingNetwork:
        if self.enabled and (self.physnet is None or self.subnet is None):
            raise ValueError("enabled requires physnet and subnet")
        if (self.network_type == "vlan") != (self.segmentation_id is not None):
            raise ValueError("segmentation_id and network_type vlan require each other")
        return self


class NeutronExtensions(Model):
    trunk: Enabled = Field(default=Enabled(enabled=True), description="Trunk ports.")
    vpnaas: OffAnyway | None = absent("VPN as a service.")
    dynamic_routing: OffAnyway | None = absent("BGP for tenants.")
    portprober: Absent | None = absent("Port prober.")


class NeutronFeatures(Model):
    backend: Literal["ml2", "ml2/ovn"] = Field("ml2", description="Open vSwitch with agents, or OVN.")
    tunnel_interface: InterfaceName | None = Field(
        None, description="Network interface of the nodes for tenants' tunnels; default: the node's address."
    )
    dns_servers: list[Address] = Field(default_factory=list, description="DNS servers of instances.")
    tenant_network_types: list[Literal["flat", "vlan", "vxlan", "geneve"]] = Field(
        default_factory=list,
        description="Types of tenants' networks, in order of preference; default: vxlan, with OVN geneve.",
    )
    external_networks: list[ExternalNetwork] = Field(default_factory=list, description="Physical networks.")
    floating_network: FloatingNetwork = Field(
        default_factory=lambda: FloatingNetwork(enabled=False), description="The network of floating IPs."
    )
    extensions: NeutronExtensions = Field(default_factory=NeutronExtensions, description="Parts of the API.")
    dvr: Absent | None = absent("Distributed routers.")
    baremetal: Unsupported = unsupported("Switch drivers.")
    bgpvpn: Absent | None = absent("BGP VPN.")
    ipsec: Absent | None = absent("Encrypted tunnels.")

    @model_validator(mode="after")
    def _physnets(self) -> NeutronFeatures:
        known = [network.physnet for network in self.external_networks]
        names = ", ".join(known) or "none"
        if len(set(known)) != len(known):
            raise ValueError(f"external_networks: duplicate physnet: {names}")
        physnet = self.floating_network.physnet
        if self.floating_network.enabled and physnet not in known:
            raise ValueError(f"floating_network.physnet: {physnet} is not in external_networks; allowed: {names}")
        if "vlan" in self.tenant_network_types and not any(n.vlan_ranges for n in self.external_networks):
            raise ValueError("tenant_network_types: vlan requires vlan_ranges in one of external_networks")
        if self.backend == "ml2" and "geneve" in self.tenant_network_types:
            raise ValueError("tenant_network_types: geneve requires backend ml2/ovn")
        return self


# --- dashboard


class HorizonFeatures(Model):
    default_theme: Literal["default", "material"] = Field("default", description="Default theme.")
    themes: UnsupportedList = unsupported("Custom themes.")
    motd: Unsupported = unsupported("Messages of the day.")


# --- shared by several services


Dedicated = Literal["compute", "networking"]


def _dedicated() -> list[Dedicated]:
    return ["compute", "networking"]


class Notifications(Model):
    external: OffAnyway | None = absent("Notifications for external systems.")


class MessagingFeatures(Model):
    components_with_dedicated_messaging: list[Dedicated] = Field(
        default_factory=_dedicated, description="Services with their own RabbitMQ."
    )
    notifications: Notifications | None = Field(None, description="Notifications of the services.")
