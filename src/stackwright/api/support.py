"""Fields of the reference systems that this version does not support: rejected by name, unless they request nothing.

As in the reference, a field requests nothing if its value is empty (false, "" or an empty list), or if it is a section
with `enabled: false`, regardless of its other fields. Rare fields are not in the models and CRDs, which must stay
small; a model has their names in `UNDECLARED` (`Model`).

A few fields are accepted without effect, such as the source of passwords that Stackwright generates. The condition
UnusedFields names those that are set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictBool,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from stackwright.api.errors import NOT_SUPPORTED, UNSUPPORTED
from stackwright.api.meta import Model

MARK = "x-stackwright-unsupported"
UNUSED = "Accepted but not used: "  # beginning of the description of such a field

OFF_ONLY = f"{NOT_SUPPORTED}; only enabled: false is accepted"
WRITE_OFF = f"{NOT_SUPPORTED}; remove it, or write enabled: false"
_NOTHING = object()


@dataclass(frozen=True)
class Refused:
    """Annotation of an unsupported field, which is rejected if it is set.

    type_    type in the reference, because CEL rules can access only fields with a type
    nothing  a value that is accepted, because it requests nothing
    """

    type_: str
    nothing: object = _NOTHING

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {MARK: self.type_}

    def _checked(self, value: object) -> object:
        if type(value) is type(self.nothing) and value == self.nothing:
            return value
        raise PydanticCustomError(UNSUPPORTED, f"{NOT_SUPPORTED}; remove it")


Unsupported = Annotated[Any, Refused("object")]
UnsupportedMap = Annotated[Any, Refused("map", {})]
UnsupportedText = Annotated[Any, Refused("string", "")]
UnsupportedList = Annotated[Any, Refused("array", [])]
UnsupportedTexts = Annotated[Any, Refused("array of string", [])]
UnsupportedNumber = Annotated[Any, Refused("integer")]
UnsupportedFlag = Annotated[Any, Refused("boolean", False)]


def unsupported(what: str, alias: str | None = None) -> Any:
    return Field(None, alias=alias, description=f"{what} Not supported by this version; the field is rejected.")


def _off(value: bool) -> bool:
    if value:
        raise PydanticCustomError(UNSUPPORTED, OFF_ONLY)
    return value


def _rule(rule: str, message: str, **more: str) -> dict[str, Any]:
    return {"rule": rule, "message": message, "reason": "FieldValueForbidden", **more}


_OFF: dict[str, Any] = _rule("!has(self.enabled) || !self.enabled", OFF_ONLY, fieldPath=".enabled")


class OffAnyway(Model):
    """A section that Stackwright does not support, and that is disabled by default in the reference.

    Other fields of a disabled section are ignored, as in the reference.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"x-kubernetes-validations": [_OFF]})
    # A factory, which adds no default to the CRD: the API server would set a default, and Absent could not reject it.
    enabled: Annotated[StrictBool, AfterValidator(_off)] = Field(
        default_factory=lambda: False, description="false: no other value is supported."
    )


class Absent(OffAnyway):
    """An unsupported section that is enabled by default in the reference, so `enabled: false` must be explicit."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"x-kubernetes-validations": [_OFF, _rule("has(self.enabled)", WRITE_OFF)]}
    )

    @model_validator(mode="before")
    @classmethod
    def _not_there(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and value.get("enabled") is None:
            raise PydanticCustomError(UNSUPPORTED, WRITE_OFF)
        return value


def absent(what: str) -> Any:
    return Field(None, description=f"{what} Not supported by this version; only false is allowed.")


def unused(default: object, why: str) -> Any:
    """A field without effect."""
    return Field(default, description=f"{UNUSED}{why}")


def unused_fields(spec: BaseModel) -> dict[str, str]:
    """Path in the manifest → why it has no effect, for fields without effect that differ from their defaults."""
    return dict(found for path in _unused(type(spec)) if (found := _set(spec, path)))


def _set(value: Any, path: tuple[str, ...]) -> tuple[str, str] | None:
    wire = ["spec"]
    for name in path:
        field = type(value).model_fields[name]
        value = getattr(value, name)
        wire.append(field.alias or name)
        if value is None or value == field.get_default(call_default_factory=True):
            return None
    return ".".join(wire), str(field.description).removeprefix(UNUSED).removesuffix(".")


@cache
def _unused(model: type[BaseModel]) -> tuple[tuple[str, ...], ...]:
    """Paths of all fields without effect, except those in lists and mappings."""
    found: list[tuple[str, ...]] = []
    for name, field in model.model_fields.items():
        if (field.description or "").startswith(UNUSED):
            found.append((name,))
        for part in _models(field.annotation):
            found += [(name, *rest) for rest in _unused(part)]
    return tuple(found)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    for part in get_args(annotation) if get_origin(annotation) is UnionType else (annotation,):
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield part
