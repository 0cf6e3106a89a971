"""Ports of a server: as specified by the user, and as resolved, with ids instead of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from stackwright.api.fields.keyed import Keyed
from stackwright.api.fields.lines import LENGTH, Line, Short
from stackwright.api.fields.network import MacAddress, NeutronAddress, NeutronRange
from stackwright.api.infra.capi import MOST, Part, Tags
from stackwright.api.infra.params import NetworkParam, SecurityGroupParam, SubnetParam
from stackwright.api.rules import FIXED, Change, Raw, Rule, each_index, either, same

TEXT = LENGTH - 60  # maximum characters of a user's description in Neutron, to which our mark is appended


class FixedIP(Part):
    subnet: SubnetParam | None = Field(None, description="Subnet of the port's network.")
    ip_address: NeutronAddress | None = Field(None, description="Default: any address of the subnet.")


class AddressPair(Part):
    ip_address: NeutronRange = Field(min_length=1, description="Address or range.")
    mac_address: MacAddress | None = Field(None, description="MAC address; default: the port's.")


class BindingProfile(Part):
    ovs_hw_offload: bool | None = Field(None, description="Hardware offload of Open vSwitch.")
    trusted_vf: bool | None = Field(None, description="Trusted mode of the virtual function.")


class ValueSpec(Part):
    name: Short = Field(min_length=1, description="Name of the entry.")
    key: Short = Field(min_length=1, description="Key in the request.")
    value: Line = Field(min_length=1, max_length=1024, description="Its value.")


class PortFields(Part):
    """Fields that are sent to Neutron unchanged."""

    admin_state_up: bool | None = Field(None, description="Administrative state of the port; default: true.")
    mac_address: MacAddress | None = Field(
        None, max_length=32, description="MAC address; default: assigned by Neutron."
    )
    allowed_address_pairs: list[AddressPair] = Field(
        default_factory=list, max_length=LENGTH, description="Additional allowed source addresses."
    )
    host_id: Short | None = Field(None, description="Host of the port.")
    vnic_type: Line | None = Field(None, max_length=64, description="VNIC type, validated by Neutron.")
    profile: BindingProfile | None = Field(None, description="Binding profile.")
    enable_port_security: bool | None = Field(None, description="Port security; default: that of the network.")
    propagate_uplink_status: bool | None = Field(None, description="Propagate the state of the uplink to the port.")
    value_specs: Annotated[list[ValueSpec], Keyed("name")] = Field(
        default_factory=list, max_length=MOST, description="Additional fields of the request."
    )


_SPELLINGS = ("disablePortSecurity", "enablePortSecurity")
# Port security: 0 is the default of the network, 1 is on, 2 is off.
_SECURED = (
    "(has(X.enablePortSecurity) ? (X.enablePortSecurity ? 1 : 2) "
    ": has(X.disablePortSecurity) ? (X.disablePortSecurity ? 2 : 1) : 0)"
)


def _secured(port: Raw) -> bool | None:
    on, off = port.get("enablePortSecurity"), port.get("disablePortSecurity")
    return on if on is not None else None if off is None else not off


class PortOpts(PortFields):
    RULES: ClassVar[tuple[Rule, ...]] = (
        either(*_SPELLINGS),
        Rule(
            "securityGroups",
            "must be absent if port security is disabled",
            f"{_SECURED.replace('X', 'self')} != 2 || !has(self.securityGroups) || self.securityGroups.size() == 0",
            lambda port: _secured(port) is False and bool(port.get("securityGroups")),
        ),
    )

    network: NetworkParam | None = Field(None, description="Network; default: that of the first subnet.")
    description: str | None = Field(None, max_length=TEXT, description="Description in Neutron.")
    name_suffix: Short | None = Field(None, description="Suffix of the port's name; default: its index.")
    fixed_ips: list[FixedIP] = Field(default_factory=list, max_length=MOST, description="Addresses of the port.")
    security_groups: list[SecurityGroupParam] = Field(
        default_factory=list, max_length=MOST, description="Security groups; default: those of the server."
    )
    tags: Tags = Field(default_factory=list, description="Additional tags.")
    trunk: bool | None = Field(None, description="Create a trunk for the port; default: that of the server.")
    disable_port_security: bool | None = Field(None, description="Older form: enablePortSecurity, inverted.")

    @model_serializer(mode="wrap")
    def _later_spelling(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        off = written.pop("disablePortSecurity", None)
        return written if off is None else {**written, "enablePortSecurity": not off}


def kept_ports(*but: str) -> Change:
    """Rule that the ports of a spec are immutable, including their order, except for the fields `but`."""
    ignored = {*but, *_SPELLINGS}
    names = [wire for name, field in PortOpts.model_fields.items() if (wire := field.alias or name) not in ignored]
    now, before = "self.ports[i]", "oldSelf.ports[i]"
    each = [f"({same(name, now, before)})" for name in names]
    each.append(f"{_SECURED.replace('X', now)} == {_SECURED.replace('X', before)}")
    cel = (
        "has(self.ports) ? has(oldSelf.ports) && self.ports.size() == oldSelf.ports.size() && "
        f"{each_index('self.ports', MOST, ' && '.join(each))} : !has(oldSelf.ports)"
    )

    def meaning(raw: Raw) -> list[Any]:
        return [_port(port, ignored) for port in raw.get("ports") or []]

    return Change("ports", FIXED, cel, lambda old, new: meaning(old) != meaning(new))


def _port(port: Mapping[str, Any], ignored: set[str]) -> tuple[Any, bool | None]:
    # An empty list equals an absent one.
    rest = {name: value for name, value in port.items() if name not in ignored and value not in (None, [])}
    return rest, _secured(port)


class ResolvedFixedIP(Part):
    subnet: str | None = Field(None, description="Id of the subnet.")
    ip_address: Short | None = Field(None, description="The address.")


class ResolvedPort(PortFields):
    name: str = Field(description="Name of the port.")
    description: str | None = Field(None, description="Description in Neutron.")
    network_id: str = Field(description="Id of the network.")
    tags: list[str] = Field(default_factory=list, description="Its tags.")
    trunk: bool | None = Field(None, description="Whether it is a trunk.")
    fixed_ips: list[ResolvedFixedIP] = Field(default_factory=list, description="Its addresses.")
    security_groups: list[str] = Field(default_factory=list, description="Ids of its security groups.")
