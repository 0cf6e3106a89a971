"""Fields that servers, machines and bastions share: disks, hints, tags, and policies for lost resources."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stackwright.api.fields.keyed import Keyed
from stackwright.api.fields.lines import BREAKS, LENGTH, Short
from stackwright.api.fields.naming import Format, ObjectName
from stackwright.api.infra.capi import MANY, MOST, Part, Tags
from stackwright.api.infra.params import ImageParam, SecurityGroupParam, ServerGroupParam
from stackwright.api.infra.ports import PortOpts
from stackwright.api.rules import Change, Raw, Rule, fixed

RecreatePolicy = Literal["Never", "Always"]
CredentialsLostPolicy = Literal["Wait", "Detach", "Orphan"]
ZoneName = Annotated[str, Format(f"[^ {BREAKS}]+", LENGTH, "must be one line without spaces")]
LOST = "Deletion without credentials: Wait, Detach (report ids) or Orphan (never log in)."


class VolumeAvailabilityZone(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "name",
            "is required if and only if from is Name, the default",
            "(self.from == 'Name') == has(self.name)",
            lambda raw: (raw.get("from", "Name") == "Name") != (raw.get("name") is not None),
        ),
    )

    from_: Literal["Name", "Machine"] = Field(
        "Name", alias="from", description="Source of the zone: `name`, or the zone of the server."
    )
    name: ZoneName | None = Field(None, description="Availability zone of Cinder.")


class BlockDeviceVolume(Part):
    type: Short | None = Field(None, description="Volume type; default: Cinder's.")
    availability_zone: VolumeAvailabilityZone | None = Field(
        None, description="Availability zone; default: selected by Cinder."
    )


class RootVolume(BlockDeviceVolume):
    size_gib: int = Field(ge=1, description="Size in GiB.")


class BlockDeviceStorage(Part):
    type: Literal["Local", "Volume"] = Field(description="A local disk of the host, or a Cinder volume.")
    volume: BlockDeviceVolume | None = Field(None, description="The volume.")


class BlockDevice(Part):
    name: Short = Field(min_length=1, description="Suffix of the volume's name, and tag of the device.")
    size_gib: int = Field(ge=1, description="Size in GiB.")
    storage: BlockDeviceStorage = Field(description="Storage of the disk.")


class ServerMetadata(Part):
    key: Short = Field(min_length=1, description="Key.")
    value: str = Field(min_length=1, max_length=LENGTH, description="Value.")


def _member(type_: str, field: str) -> Rule:
    return Rule(
        field,
        f"is required if and only if type is {type_}",
        f"(self.type == '{type_}') == has(self.{field})",
        lambda raw: (raw.get("type") == type_) != (raw.get(field) is not None),
    )


class HintValue(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (
        _member("Bool", "bool"),
        _member("String", "string"),
        _member("Number", "number"),
    )

    type: Literal["Bool", "String", "Number"] = Field(description="Type of the value.")
    bool_: bool | None = Field(None, alias="bool", description="Boolean value.")
    string: Short | None = Field(None, min_length=1, description="A text.")
    number: int | None = Field(None, ge=-(2**31), le=2**31 - 1, description="A number.")

    @property
    def value(self) -> bool | str | int:
        given = {"Bool": self.bool_, "String": self.string, "Number": self.number}[self.type]
        assert given is not None  # ensured by a rule
        return given


class SchedulerHint(Part):
    name: Short = Field(min_length=1, description="Name of the hint.")
    value: HintValue = Field(description="Its value.")


class LocalRef(Part):
    name: ObjectName = Field(description="Name of an object in this namespace.")


class TypedRef(LocalRef):
    api_group: Short | None = Field(None, alias="apiGroup", description="Group of its kind.")
    kind: Short = Field(min_length=1, description="Its kind.")


ROOT = Rule(
    "additionalBlockDevices",
    "a device named root is not allowed together with rootVolume",
    "!(has(self.rootVolume) && has(self.additionalBlockDevices)) || "
    "!self.additionalBlockDevices.exists(d, d.name == 'root')",
    lambda raw: (
        raw.get("rootVolume") is not None
        and any(device.get("name") == "root" for device in raw.get("additionalBlockDevices") or [])
    ),
)


class ServerFields(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (ROOT,)

    image: ImageParam = Field(description="Image of the root disk or root volume.")
    ssh_key_name: Short = Field("", description="Keypair of Nova.")
    ports: list[PortOpts] = Field(default_factory=list, max_length=MOST, description="Ports, in order.")
    security_groups: list[SecurityGroupParam] = Field(
        default_factory=list, max_length=MOST, description="Security groups of ports without their own."
    )
    trunk: bool = Field(False, description="Default of trunk for ports.")
    tags: Tags = Field(default_factory=list, description="Tags of the server, its ports and trunks.")
    server_metadata: Annotated[list[ServerMetadata], Keyed("key")] = Field(
        default_factory=list, max_length=MANY, description="Metadata in Nova."
    )
    config_drive: bool = Field(False, description="Attach a config drive.")
    root_volume: RootVolume | None = Field(
        None, description="Boot from a volume; default: from a local disk of the host."
    )
    additional_block_devices: Annotated[list[BlockDevice], Keyed("name")] = Field(
        default_factory=list, max_length=MOST, description="More disks."
    )
    server_group: ServerGroupParam | None = Field(None, description="Server group.")
    floating_ip_pool_ref: TypedRef | None = Field(None, description="Pool of its floating IP.")
    scheduler_hint_additional_properties: Annotated[list[SchedulerHint], Keyed("name")] = Field(
        default_factory=list, max_length=MOST, description="Additional hints for Nova's scheduler."
    )
    recreate_policy: RecreatePolicy = Field(
        "Never",
        description="Always: recreate the server if others deleted it, or one of its ports or volumes, in OpenStack. "
        "Its volumes are recreated, too, so their data is lost. Ignored if a machine has its id as providerID: the "
        "owner replaces such a machine.",
    )
    credentials_lost_policy: CredentialsLostPolicy = Field("Wait", description=LOST)


# Without ports: their rules depend on the kind.
SERVER_CHANGES: tuple[Change, ...] = tuple(
    fixed(name)
    for name in (
        "image", "sshKeyName", "securityGroups", "trunk", "tags", "serverMetadata", "configDrive", "rootVolume",
        "additionalBlockDevices", "serverGroup", "floatingIPPoolRef", "schedulerHintAdditionalProperties",
    )
)  # fmt: skip


class Address(Part):
    type: str = Field(description="InternalIP, ExternalIP or InternalDNS.")
    address: str = Field(description="The address.")


def unset(raw: Raw, *names: str) -> bool:
    return all(raw.get(name) is None for name in names)
