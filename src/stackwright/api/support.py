"""Fields of the reference shapes that this version does not honour: refused by name, unless they ask for nothing.

Two ways to ask for nothing are taken, as the reference takes them: an empty value (false, "" or an empty list), and a
section with `enabled: false`, whatever else stands in it. Rare fields are not told in the models and the CRDs, which
must stay small; `reference.py` has their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
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

OFF_ONLY = f"{NOT_SUPPORTED}; only enabled: false is accepted"
WRITE_OFF = f"{NOT_SUPPORTED}; remove it, or write enabled: false"
_NOTHING = object()


@dataclass(frozen=True)
class Refused:
    """Of a field that is refused when it is set.

    type_    in the reference: the API server's rules can name only fields that have one
    nothing  a value that is taken, because it asks for nothing
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
    return Field(None, alias=alias, description=f"{what} Not supported by this version: refused.")


def _off(value: bool) -> bool:
    if value:
        raise PydanticCustomError(UNSUPPORTED, OFF_ONLY)
    return value


def _rule(rule: str, message: str, **more: str) -> dict[str, Any]:
    return {"rule": rule, "message": message, "reason": "FieldValueForbidden", **more}


_OFF: dict[str, Any] = _rule("!has(self.enabled) || !self.enabled", OFF_ONLY, fieldPath=".enabled")


class OffAnyway(Model):
    """What Stackwright does not have, and what is off in the reference where nothing is said of it.

    Whatever else stands in a section that is off means nothing, here as there.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"x-kubernetes-validations": [_OFF]})
    # By a factory, which the CRD does not show: the API server would fill in a default, and Absent could not refuse.
    enabled: Annotated[StrictBool, AfterValidator(_off)] = Field(
        default_factory=lambda: False, description="false: nothing else is supported."
    )


class Absent(OffAnyway):
    """The same of what is on in the reference where nothing is said of it, so `enabled: false` must be written."""

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
    return Field(None, description=f"{what} Not there in this version: false only.")
