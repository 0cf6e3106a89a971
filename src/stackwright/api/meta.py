"""Types that all kinds share: identity of a kind, conditions, and the base models.

A model validates users' manifests and generates the CRD, so every field has a description, and unknown fields are
rejected. Our own kinds use camelCase in manifests as Kubernetes does; OpenStackDeployment and HelmBundle keep the
snake_case of the systems whose manifests must apply unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

LCM = "lcm.mirantis.com"
OURS = "stackwright.dev"


@dataclass(frozen=True)
class Column:
    """One column of `kubectl get`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


@dataclass(frozen=True)
class Kind:
    """A Kubernetes resource type, with everything needed to address it in the API.

    `version` is the stored version, which we read and write; `also` lists further versions with the same schema. Kinds
    that differ only in the version are equal: the API server serves each object in all versions.
    `contract` is the version of Cluster API's provider contract that all versions fulfil, if its controllers read them.
    """

    group: str
    version: str = field(compare=False)
    kind: str
    plural: str
    namespaced: bool = True
    short: tuple[str, ...] = field(default=(), compare=False)
    columns: tuple[Column, ...] = field(default=(), compare=False)
    categories: tuple[str, ...] = field(default=("stackwright",), compare=False)
    also: tuple[str, ...] = field(default=(), compare=False)
    contract: str = field(default="", compare=False)

    @property
    def api_version(self) -> str:
        return self.api_versions[0]

    @property
    def api_versions(self) -> tuple[str, ...]:
        """All API versions, the stored version first."""
        prefix = f"{self.group}/" if self.group else ""
        return tuple(f"{prefix}{version}" for version in (self.version, *self.also))

    def __str__(self) -> str:
        return self.kind


class Model(BaseModel):
    """Base of all parts of a spec: unknown fields are rejected, instances are immutable, types are not coerced.

    UNDECLARED: names of fields of the reference systems that the model lacks; those of its bases also apply. They are
    rejected as unsupported.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    UNDECLARED: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        """Removes declared fields that are null: they get their default or are missing, as in the API server."""
        if not isinstance(value, dict) or all(child is not None for child in value.values()):
            return value
        declared = set(cls.model_fields) | {field.alias for field in cls.model_fields.values()}
        return {name: child for name, child in value.items() if child is not None or name not in declared}


class CamelModel(Model):
    """Base of the parts of our own kinds: `database_name` in Python is `databaseName` in manifests."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=to_camel, populate_by_name=True)


class Condition(Model):
    """One observation of an object, in the form of the Kubernetes API conventions."""

    type: str = Field(description="Type of the condition, e.g. Ready.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: str = Field("", description="The cause as one CamelCase word; Blocked… means that a user must act.")
    message: str = Field("", description="The cause in one sentence, and what it waits for or what to change.")
    observedGeneration: int = Field(0, description="Observed generation of the spec.")
    lastTransitionTime: str = Field("", description="When the status last changed (RFC 3339).")


class Status(CamelModel):
    """The status that all our kinds share."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)

    observed_generation: int = Field(0, description="The generation of the spec that this status describes.")
    conditions: list[Condition] = Field(
        default_factory=list, description="Ready, Reconciling, Stalled and one condition per stage."
    )


class Resource(BaseModel):
    """A whole object. Subclasses set KIND, `spec` and `status`; Kubernetes defines metadata.

    In a TEMPLATE, update rules of parts do not apply: they are for the objects created from it. Only admission, not the
    schema, checks the template's own rules: the topology controller of Cluster API sends changes as dry runs, with an
    annotation that CEL cannot access, to find out whether it needs another template.

    REPORTED: whether a controller reports Ready. Such an object is in progress until its first report.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    KIND: ClassVar[Kind]
    DESCRIPTION: ClassVar[str] = ""
    TEMPLATE: ClassVar[bool] = False
    REPORTED: ClassVar[bool] = True

    apiVersion: str = ""
    kind: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
