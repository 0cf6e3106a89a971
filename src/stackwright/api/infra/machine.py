"""OpenStackMachine and OpenStackMachineTemplate: a server as a machine of Cluster API, and a template for many.

Ports, credentials and availability zone default to those of the cluster. A bastion has the same spec, but no rules for
updates.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from stackwright.api.crd import NEEDS_ONE
from stackwright.api.fields.lines import Line, Short
from stackwright.api.infra.capi import AGE, CATEGORIES, CLUSTER, GROUP, MESSAGE, READY, InfraResource, InfraStatus, Part
from stackwright.api.infra.identity import IdentityReference
from stackwright.api.infra.machine_parts import SERVER_CHANGES, Address, ServerFields, unset
from stackwright.api.infra.params import Flavor
from stackwright.api.infra.ports import kept_ports
from stackwright.api.meta import Column, Kind
from stackwright.api.rules import FIXED, Change, Raw, Rule, at, fixed, with_rules

FINALIZER = f"openstackmachine.{GROUP}"
VERSIONS = ("v1beta1", "v1beta2")
# Requires Cluster API 1.11 or newer. Older versions expect failure domains of a cluster as a map, but ours are a list.
CONTRACT = "v1beta2"


def flavor_of(raw: Raw) -> dict[str, Any] | None:
    """The flavor in its latest form, from any form. An id takes precedence over a name."""
    if raw.get("flavorID"):
        return {"id": raw["flavorID"]}
    flavor = raw.get("flavor")
    return {"filter": {"name": flavor}} if isinstance(flavor, str) else flavor


def _schema(schema: dict[str, Any], model: type[Any]) -> None:
    schema[NEEDS_ONE] = ["flavor", "flavorID"]
    with_rules(schema, model)


class MachineSpec(ServerFields):
    model_config = ConfigDict(json_schema_extra=_schema)

    RULES: ClassVar[tuple[Rule, ...]] = (
        *ServerFields.RULES,
        Rule("flavor", "write flavor or flavorID", "", lambda raw: unset(raw, "flavor", "flavorID")),
        Rule(
            "flavorID",
            "write flavor.id or flavorID, not both",
            "",
            lambda raw: isinstance(raw.get("flavor"), dict) and raw.get("flavorID") is not None,
        ),
    )

    flavor: Flavor | None = Field(None, description="Name of the flavor (v1beta1), or one of id, filter (v1beta2).")
    flavor_id: Short | None = Field(None, min_length=1, description="Id of the flavor (v1beta1); it overrides a name.")
    identity_ref: IdentityReference | None = Field(None, description="Credentials; default: those of the cluster.")
    provider_id: Line | None = Field(
        None, max_length=512, description="openstack://<region>/<id>, written by the operator."
    )
    instance_id: Short | None = Field(None, description="Id in Nova.")

    @model_serializer(mode="wrap")
    def _later_spelling(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        id_ = written.pop("flavorID", None)
        return {**written, "flavor": {"id": id_}} if id_ else written


MACHINE_CHANGES: tuple[Change, ...] = (
    *SERVER_CHANGES,
    kept_ports("allowedAddressPairs"),
    Change("flavor", FIXED, "", lambda old, new: flavor_of(old) != flavor_of(new)),
)


class OpenStackMachineSpec(MachineSpec):
    CHANGES: ClassVar[tuple[Change, ...]] = MACHINE_CHANGES


class Initialization(Part):
    provisioned: bool = Field(False, description="Whether the machine was ready before.")


class OpenStackMachineStatus(InfraStatus):
    ready: bool = Field(False, description="Whether the machine is ready.")
    initialization: Initialization | None = Field(None, description="Progress of the initialization.")
    instance_id: str | None = Field(None, description="Id in Nova.")
    instance_state: str | None = Field(None, description="Status in Nova.")
    addresses: list[Address] = Field(default_factory=list, description="Its addresses.")
    failure_domain: str | None = Field(None, description="Availability zone of the server.")


class OpenStackMachine(InfraResource):
    DESCRIPTION = "A machine of Cluster API that is a server in an OpenStack."
    KIND: ClassVar[Kind] = Kind(
        GROUP, VERSIONS[0], "OpenStackMachine", "openstackmachines", short=("osm",), also=VERSIONS[1:],
        columns=(
            CLUSTER, Column("InstanceState", ".status.instanceState"), READY, Column("ProviderID", ".spec.providerID"),
            Column("Machine", '.metadata.ownerReferences[?(@.kind=="Machine")].name'), MESSAGE, AGE,
        ),
        categories=CATEGORIES, contract=CONTRACT,
    )  # fmt: skip
    spec: OpenStackMachineSpec = Field(description="Desired state of the machine.")
    status: OpenStackMachineStatus = Field(
        default_factory=OpenStackMachineStatus, description="Observed state of the machine."
    )


class TemplateMachineSpec(MachineSpec):
    RULES: ClassVar[tuple[Rule, ...]] = (
        *MachineSpec.RULES,
        Rule(
            "providerID",
            "belongs to one machine, not to a template",
            "has(self.providerID) == false",
            lambda raw: raw.get("providerID") is not None,
        ),
    )


class MachineTemplate(Part):
    spec: TemplateMachineSpec = Field(description="The spec of each machine.")


class OpenStackMachineTemplateSpec(Part):
    template: MachineTemplate = Field(description="Template of each machine.")


ANOTHER = "cannot change; create another template"


def _in_template(change: Change) -> Change:
    spec = "spec.template.spec"
    return Change(
        f"{spec}.{change.field}", ANOTHER, "", lambda old, new: change.refused(at(old, spec) or {}, at(new, spec) or {})
    )


TEMPLATE_CHANGES: tuple[Change, ...] = tuple(
    _in_template(change)
    for change in (
        *MACHINE_CHANGES,
        *map(fixed, ("identityRef", "instanceID", "recreatePolicy", "credentialsLostPolicy")),
    )
)


class OpenStackMachineTemplate(InfraResource):
    DESCRIPTION = "Template of an OpenStackMachine."
    KIND: ClassVar[Kind] = Kind(
        GROUP, VERSIONS[0], "OpenStackMachineTemplate", "openstackmachinetemplates", short=("osmt",),
        also=VERSIONS[1:], columns=(CLUSTER, AGE), categories=CATEGORIES, contract=CONTRACT,
    )  # fmt: skip
    TEMPLATE: ClassVar[bool] = True
    REPORTED: ClassVar[bool] = False
    CHANGES: ClassVar[tuple[Change, ...]] = TEMPLATE_CHANGES
    spec: OpenStackMachineTemplateSpec = Field(description="The template.")
    status: InfraStatus = Field(default_factory=InfraStatus, description="Not used.")
