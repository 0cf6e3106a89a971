"""The names of services in an OpenStackDeployment, and the other names that users write for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from stackwright.api import reference
from stackwright.services.registry import SERVICES as DECLARED

SERVICES = tuple(sorted(declared.service for declared in DECLARED))
# Program → its service; users write the name of one instead of the other.
PROGRAMS = {declared.name: declared.service for declared in DECLARED}
# Names of the reference systems for services that this version does not have.
UNSUPPORTED = reference.SERVICES - PROGRAMS.keys() - set(SERVICES)
OWN_BUS = tuple(sorted(declared.service for declared in DECLARED if declared.own_bus))


def _checked(value: Any, handler: Callable[[Any], str]) -> str:
    """Adds to the error of an unknown name what `api.errors` needs to explain it."""
    try:
        return handler(value)
    except ValidationError as error:
        context = error.errors()[0]["ctx"]
        raise PydanticCustomError(
            "literal_error", "Input should be {expected}", {**context, "unsupported": UNSUPPORTED, "synonyms": PROGRAMS}
        ) from None


if TYPE_CHECKING:
    ServiceName = str
    Dedicated = str
else:
    ServiceName = Annotated[Literal[(*SERVICES, *(f"~{name}" for name in SERVICES))], WrapValidator(_checked)]
    Dedicated = Annotated[Literal[OWN_BUS], WrapValidator(_checked)]
