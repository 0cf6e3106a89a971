"""Types that all kinds of infrastructure.cluster.x-k8s.io share: names, columns, unions, keyed lists, statuses.

The fields are those of Cluster API Provider OpenStack, so that its manifests apply unchanged; only the policies for
lost resources and credentials are ours. Three of its kinds have two versions with different names for some fields
(disablePortSecurity became enablePortSecurity). Here both versions share one schema with both names and conversion
strategy None: objects are the same in every version, and no conversion webhook is needed. A field may have only one
of its names; `parsed` returns a spec with the later names.

`flavor` of a machine is a text in one version and an object in the other, so it has no type in the schema, CEL cannot
access it, and admission checks it. `flavor` of a server is a text in all versions.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from stackwright.api.errors import messages
from stackwright.api.fields.keyed import Keyed
from stackwright.api.fields.lines import Short
from stackwright.api.fields.mark import unlike_marks
from stackwright.api.meta import Column, Resource, Status
from stackwright.api.rules import Change, Rule, Ruled

GROUP = "infrastructure.cluster.x-k8s.io"
CATEGORIES = ("cluster-api", "stackwright")
READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
MESSAGE = Column("Message", '.status.conditions[?(@.type=="Ready")].message')
AGE = Column("Age", ".metadata.creationTimestamp", "date")
# Maximum lengths of lists: more than users need, and few enough for the API server's limit of CEL costs.
MOST = 64
MANY = 256
CLUSTER = Column("Cluster", r".metadata.labels.cluster\.x-k8s\.io/cluster-name")

_ACRONYMS = {
    "id": "ID", "ip": "IP", "ips": "IPs", "api": "API", "cidr": "CIDR", "cidrs": "CIDRs", "mtu": "MTU", "gib": "GiB",
    "hw": "HW", "vf": "VF", "ra": "RA",
}  # fmt: skip
# The API server's format `uuid`, in which dashes are optional.
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def wire_name(name: str) -> str:
    """Name of a field in Python → name in manifests: floating_ip_pool_ref → floatingIPPoolRef."""
    first, *others = name.split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in others)


class Part(Ruled):
    """Base of all parts of the kinds of this group."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=wire_name)


def _given(raw: Any) -> int:
    return sum(value is not None for value in raw.values())


class OneOf(Part):
    """A union: exactly one of its fields is set."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        message = f"write exactly one of {_names(cls)}"
        cls.RULES = (Rule("", message, "", lambda raw: _given(raw) != 1),)


class NonEmpty(Part):
    """At least one of its fields is set."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        message = f"must not be empty; write at least one of {_names(cls)}"
        cls.RULES = (Rule("", message, "", lambda raw: _given(raw) == 0),)


def _names(model: type[Part]) -> str:
    return ", ".join(field.alias or name for name, field in model.model_fields.items())


def _uuid(value: str) -> str:
    if not _UUID.fullmatch(value):
        raise ValueError("must be a UUID")
    return value


def _ipv4(value: str) -> str:
    try:
        ipaddress.IPv4Address(value)
    except ValueError:
        raise ValueError("must be an IPv4 address") from None
    return value


def _range(value: str) -> str:
    try:
        ipaddress.IPv4Network(value, strict=False)
    except ValueError:
        value = ""
    if "/" not in value:
        raise ValueError("must be a range of IPv4 addresses such as 10.6.0.0/24")
    return value


Uuid = Annotated[str, AfterValidator(_uuid), Field(json_schema_extra={"format": "uuid"})]
Ipv4 = Annotated[str, AfterValidator(_ipv4), Field(json_schema_extra={"format": "ipv4"})]
Ipv4Range = Annotated[Short, Field(min_length=1), AfterValidator(_range)]


Texts = Annotated[list[Short], Field(max_length=MOST), Keyed()]
Tags = Annotated[Texts, AfterValidator(unlike_marks)]  # of created resources


class InfraStatus(Status):
    model_config = ConfigDict(extra="allow", alias_generator=wire_name)


class OwnerStatus(InfraStatus):
    """The status of objects that have resources in an OpenStack."""

    project: str = Field("", description="Location of its resources: project id, @region.")


class InfraResource(Resource):
    """Base of the kinds of this group. CHANGES are update rules that need the status or other parts than the spec."""

    CHANGES: ClassVar[tuple[Change, ...]] = ()

    @classmethod
    def parsed(cls, obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The spec with later names and defaults, as in a manifest, and errors; with errors the spec is unchanged."""
        raw = obj.get("spec")
        raw = {} if raw is None else raw
        model: Any = cls.model_fields["spec"].annotation
        try:
            return model.model_validate(raw).model_dump(by_alias=True, exclude_none=True), []
        except ValidationError as error:
            return (dict(raw) if isinstance(raw, dict) else {}), messages(error, model)
