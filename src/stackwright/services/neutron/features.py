"""The features of the networking service, and facts about the surrounding cloud."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Literal

from pydantic import Field, model_validator

from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import InstanceName
from stackwright.api.fields.network import Address, InterfaceName, Network, PhysnetName, unusable
from stackwright.api.fields.shared import Enabled
from stackwright.api.meta import Model
from stackwright.api.support import Absent, OffAnyway, Unsupported, absent, unsupported
from stackwright.api.wording import choices
from stackwright.services.context import Settings

RESERVED = ("br-int", "br-tun", "br-tunnel-phy")


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
        addresses = {name: ipaddress.ip_address(getattr(self, name)) for name in ("pool_start", "pool_end", "gateway")}
        problems = [
            f"{name} {address} {why}"
            for name, address in addresses.items()
            if (why := unusable(str(address), self.range))
        ]
        first, last, gateway = (int(each) for each in addresses.values())
        if first > last:
            problems.append(f"pool_start {self.pool_start} is after pool_end {self.pool_end}")
        if first <= gateway <= last:
            problems.append(f"gateway {self.gateway} is inside the pool {self.pool_start} to {self.pool_end}")
        if problems:
            raise ValueError("; ".join(problems))
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
        named = [network.physnet for network in self.external_networks]
        known = list(dict.fromkeys(named))
        problems = []
        if len(known) != len(named):
            problems.append(f"external_networks: duplicate physnet: {', '.join(named)}")
        physnet = self.floating_network.physnet
        if self.floating_network.enabled and physnet not in known:
            problems.append(
                f"floating_network.physnet: {physnet} is not in external_networks; {choices(physnet, known)}"
            )
        if "vlan" in self.tenant_network_types and not any(n.vlan_ranges for n in self.external_networks):
            problems.append("tenant_network_types: vlan requires vlan_ranges in one of external_networks")
        if self.backend == "ml2" and "geneve" in self.tenant_network_types:
            problems.append("tenant_network_types: geneve requires backend ml2/ovn")
        if self.backend == "ml2/ovn" and "vxlan" in self.tenant_network_types:
            problems.append("tenant_network_types: vxlan requires backend ml2; OVN allows geneve, vlan, flat")
        if problems:
            raise ValueError("; ".join(problems))
        return self


def errors(features: NeutronFeatures) -> list[str]:
    """Errors of names that must be consistent with each other on the nodes."""
    networks = features.external_networks
    found = []
    for field in ("bridge", "interface"):
        counted = Counter(value for network in networks if (value := getattr(network, field)))
        found += [f"external_networks: duplicate {field} {name}" for name, times in counted.items() if times > 1]
    for network in networks:
        if network.bridge in RESERVED:
            found.append(f"external_networks: bridge {network.bridge} is reserved for Neutron; choose another name")
        if network.interface and network.interface == features.tunnel_interface:
            found.append(
                f"external_networks: interface {network.interface} is also tunnel_interface; use two interfaces"
            )
    floating = features.floating_network
    types = [kind for network in networks if network.physnet == floating.physnet for kind in network.network_types]
    if floating.enabled and types and floating.network_type not in types:
        found.append(
            f"floating_network.network_type: {floating.network_type} is not in network_types of {floating.physnet}"
        )
    return found


class NeutronSettings(NeutronFeatures, Settings):
    """features.neutron."""

    messaging_instance: InstanceName = Field("rabbitmq", description="Name of the RabbitMQ object.")
    services: list[Line] = Field(
        default_factory=list, description="Services of the cloud, as features.services has them."
    )

    @model_validator(mode="after")
    def _fit(self) -> NeutronSettings:
        if found := errors(self):
            raise ValueError("; ".join(found))
        return self
