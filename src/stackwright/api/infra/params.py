"""References to existing OpenStack resources: by id, or by a filter that must match exactly one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from stackwright.api.crd import KEEP
from stackwright.api.fields.lines import BREAKS, LENGTH, Short
from stackwright.api.fields.naming import Format, ObjectName
from stackwright.api.infra.capi import MOST, NonEmpty, OneOf, Part, Texts, Uuid

# The schema of a cluster repeats filters a dozen times, so their descriptions are as short as possible.
NeutronTag = Annotated[str, Format(f"[^,{BREAKS}]+", LENGTH, "must be one line without commas")]
NeutronTags = Annotated[list[NeutronTag], Field(max_length=MOST)]


class NamedRef(Part):
    name: ObjectName = Field(description="Its name.")


class NameFilter(NonEmpty):
    name: Short | None = Field(None, description="Its name.")


class ImageFilter(NameFilter):
    tags: Texts = Field(default_factory=list, description="Tags that it must have.")


class ImageParam(OneOf):
    id: Uuid | None = Field(None, description="Its id.")
    filter: ImageFilter | None = Field(None, description="Finds it.")
    image_ref: NamedRef | None = Field(None, description="An Image object in the same namespace.")


class FlavorParam(OneOf):
    id: Short | None = Field(None, min_length=1, description="Id of the flavor, in any format.")
    filter: NameFilter | None = Field(None, description="Finds it.")


def _flavor(value: Any) -> Any:
    """Convert a text, which is a name as in v1beta1, to a filter."""
    if value == "" or not isinstance(value, str | dict | FlavorParam):
        raise ValueError("write the name of a flavor, or one of id, filter")
    return {"filter": {"name": value}} if isinstance(value, str) else value


# A text or an object: a structural schema cannot express this type, so it declares none.
Flavor = Annotated[FlavorParam, BeforeValidator(_flavor), WithJsonSchema({KEEP: True})]


class ServerGroupParam(OneOf):
    id: Uuid | None = Field(None, description="Its id.")
    filter: NameFilter | None = Field(None, description="Finds it.")


class NeutronFilter(NonEmpty):
    name: Short | None = Field(None, description="Its name.")
    description: Short | None = Field(None, description="Its description.")
    project_id: Short | None = Field(None, description="Its project.")
    tags: NeutronTags = Field(default_factory=list, description="All of these tags.")
    tags_any: NeutronTags = Field(default_factory=list, description="One of these tags.")
    not_tags: NeutronTags = Field(default_factory=list, description="Not all of these tags.")
    not_tags_any: NeutronTags = Field(default_factory=list, description="None of these tags.")


class SubnetFilter(NeutronFilter):
    ip_version: Literal[4, 6] | None = Field(None, description="4 or 6.")
    gateway_ip: Short | None = Field(None, description="Its gateway.")
    cidr: Short | None = Field(None, description="Its range.")
    ipv6_address_mode: Short | None = Field(None, description="Address mode.")
    ipv6_ra_mode: Short | None = Field(None, description="Router mode.")


class NetworkParam(OneOf):
    id: Uuid | None = Field(None, description="Its id.")
    filter: NeutronFilter | None = Field(None, description="Finds it.")


class SubnetParam(OneOf):
    id: Uuid | None = Field(None, description="Its id.")
    filter: SubnetFilter | None = Field(None, description="Finds it.")


class RouterParam(OneOf):
    id: Uuid | None = Field(None, description="Its id.")
    filter: NeutronFilter | None = Field(None, description="Finds it.")


class SecurityGroupParam(OneOf):
    id: Uuid | None = Field(None, description="Its id.")
    filter: NeutronFilter | None = Field(None, description="Finds it.")
