"""References to credentials: a Secret in the same namespace, or an OpenStackClusterIdentity for many namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from stackwright.api.fields.lines import Line, Short
from stackwright.api.fields.naming import NamespaceName, ObjectName
from stackwright.api.infra.capi import AGE, CATEGORIES, GROUP, MESSAGE, MOST, READY, InfraResource, InfraStatus, Part
from stackwright.api.meta import Column, Kind
from stackwright.api.rules import Change, Rule, fixed


class IdentityReference(Part):
    # Existing resources are in one region and cannot be found from another.
    CHANGES: ClassVar[tuple[Change, ...]] = (
        fixed("region", "cannot change, be added or be removed; create another object"),
    )

    type: Literal["Secret", "ClusterIdentity"] = Field("Secret", description="Kind of the object `name`.")
    name: ObjectName = Field(description="A Secret of this namespace, or an OpenStackClusterIdentity.")
    cloud_name: Short = Field(min_length=1, description="Name of the cloud in its clouds.yaml.")
    region: Short | None = Field(None, description="Region; default: that of clouds.yaml.")


class SecretRef(Part):
    name: ObjectName = Field(description="Secret with clouds.yaml, and optionally cacert.")
    namespace: NamespaceName = Field(description="Its namespace.")


_BY_VALUES = ("In", "NotIn")


class Requirement(Part):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "values",
            "is required by In and NotIn, and not allowed for other operators",
            "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
            lambda raw: (raw.get("operator") in _BY_VALUES) != bool(raw.get("values")),
        ),
    )

    key: Line = Field(min_length=1, max_length=317, description="Label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="Operator of the requirement.")
    values: list[Short] = Field(default_factory=list, max_length=MOST, description="Values, for In and NotIn.")

    def holds(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
        return value is None


class LabelSelector(Part):
    match_labels: dict[Line, Short] = Field(default_factory=dict, max_length=MOST, description="Required labels.")
    match_expressions: list[Requirement] = Field(
        default_factory=list, max_length=MOST, description="Further requirements for labels."
    )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches these labels; an empty one matches everything."""
        return self.match_labels.items() <= labels.items() and all(
            each.holds(labels) for each in self.match_expressions
        )


class OpenStackClusterIdentitySpec(Part):
    secret_ref: SecretRef = Field(description="The credentials.")
    namespace_selector: LabelSelector | None = Field(
        None, description="Namespaces that may use them, by labels; default: all."
    )

    def allows(self, labels: Mapping[str, str]) -> bool:
        """Whether a namespace with these labels may use the identity."""
        return self.namespace_selector is None or self.namespace_selector.matches(labels)


class OpenStackClusterIdentity(InfraResource):
    DESCRIPTION = "Credentials of an OpenStack, shared by namespaces."
    REPORTED: ClassVar[bool] = False
    KIND: ClassVar[Kind] = Kind(
        GROUP, "v1alpha1", "OpenStackClusterIdentity", "openstackclusteridentities", namespaced=False, short=("osci",),
        columns=(
            Column("Secret", ".spec.secretRef.name"), Column("Namespace", ".spec.secretRef.namespace"),
            READY, MESSAGE, AGE,
        ),
        categories=CATEGORIES,
    )  # fmt: skip
    spec: OpenStackClusterIdentitySpec = Field(description="The credentials and the namespaces that may use them.")
    status: InfraStatus = Field(default_factory=InfraStatus, description="Whether the credentials can be read.")
