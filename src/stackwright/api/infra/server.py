"""OpenStackServer: a server with its ports, trunks, volumes and floating IP.

The spec is immutable except for the reference to credentials and the policies, because a server cannot become another
one. The status records all created resources by id, so that deletion needs no other data.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from stackwright.api.fields.lines import Short
from stackwright.api.infra.capi import AGE, CATEGORIES, GROUP, MESSAGE, MOST, READY, InfraResource, OwnerStatus, Part
from stackwright.api.infra.identity import IdentityReference
from stackwright.api.infra.machine_parts import SERVER_CHANGES, Address, LocalRef, ServerFields, unset
from stackwright.api.infra.ports import PortOpts, ResolvedPort, kept_ports
from stackwright.api.meta import Column, Kind
from stackwright.api.rules import Change, Rule, fixed

FINALIZER = f"openstackserver.{GROUP}"


class OpenStackServerSpec(ServerFields):
    RULES: ClassVar[tuple[Rule, ...]] = (
        *ServerFields.RULES,
        Rule(
            "flavor",
            "write flavor, a name, or flavorID",
            "has(self.flavor) || has(self.flavorID)",
            lambda raw: unset(raw, "flavor", "flavorID"),
        ),
    )
    CHANGES: ClassVar[tuple[Change, ...]] = (
        *SERVER_CHANGES,
        kept_ports(),
        *map(fixed, ("flavor", "flavorID", "availabilityZone", "userDataRef")),
    )

    identity_ref: IdentityReference = Field(description="The credentials.")
    flavor: Short | None = Field(None, min_length=1, description="Name of the flavor.")
    flavor_id: Short | None = Field(None, min_length=1, description="Id of the flavor; it overrides the name.")
    ports: list[PortOpts] = Field(min_length=1, max_length=MOST, description="Ports, in order.")
    ssh_key_name: Short = Field(description="Keypair in Nova; empty for none.")
    availability_zone: Short | None = Field(None, description="Availability zone of Nova.")
    user_data_ref: LocalRef | None = Field(None, description="Secret with the user data in its key `value`.")


class ResolvedServer(Part):
    server_group_id: str | None = Field(None, description="Id of the server group.")
    image_id: str | None = Field(None, description="Id of the image.")
    flavor_id: str | None = Field(None, description="Id of the flavor.")
    ports: list[ResolvedPort] = Field(default_factory=list, description="Ports, with ids only.")


class PortRecord(Part):
    id: str = Field(description="Id in Neutron.")
    name: str | None = Field(None, description="Name.")


class TrunkRecord(PortRecord):
    port: str | None = Field(None, description="Id of its parent port.")


class VolumeRecord(Part):
    id: str = Field(description="Id in Cinder.")
    name: str | None = Field(None, description="Name of the device; root for the root volume.")


class FloatingIPRecord(Part):
    id: str = Field(description="Id in Neutron.")
    name: str | None = Field(None, description="Name.")
    address: str | None = Field(None, description="The address.")


class ServerResources(Part):
    ports: list[PortRecord] = Field(default_factory=list, description="Ports.")
    trunks: list[TrunkRecord] = Field(default_factory=list, description="Trunks.")
    volumes: list[VolumeRecord] = Field(default_factory=list, description="Volumes.")
    floating_ips: list[FloatingIPRecord] = Field(default_factory=list, description="Floating IPs.")


class OpenStackServerStatus(OwnerStatus):
    ready: bool = Field(False, description="Whether the server is ACTIVE and no resource is missing.")
    instance_id: str | None = Field(None, description="Id in Nova.")
    instance_state: str | None = Field(None, description="Status in Nova.")
    addresses: list[Address] = Field(default_factory=list, description="Its addresses.")
    resolved: ResolvedServer | None = Field(None, description="Ids of the names in the spec at creation.")
    resources: ServerResources | None = Field(None, description="Resources created for the server.")


class OpenStackServer(InfraResource):
    DESCRIPTION = "A virtual machine in an OpenStack, with its ports and volumes."
    KIND: ClassVar[Kind] = Kind(
        GROUP, "v1alpha1", "OpenStackServer", "openstackservers", short=("oss",),
        columns=(
            Column("InstanceState", ".status.instanceState"), READY, Column("InstanceID", ".status.instanceID"),
            MESSAGE, AGE,
        ),
        categories=CATEGORIES,
    )  # fmt: skip
    spec: OpenStackServerSpec = Field(description="Desired state of the server.")
    status: OpenStackServerStatus = Field(
        default_factory=OpenStackServerStatus, description="Observed state of the server."
    )
