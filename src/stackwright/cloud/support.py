"""Lists the feature values that were used in a real cloud, and those that are only rendered into charts. Pure.

TESTED maps each accepted value to the end-to-end test that uses it, or to none. Each service declares this for its own
values (`services/tested.py`).
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from stackwright.api.support import OffAnyway
from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.services.registry import SERVICES
from stackwright.services.tested import ANY_OTHER, RENDERED_ONLY, SMALL_CLOUD, UNTESTED, UP, Alternative, Value, switch

Untested = tuple[str, Value, str]  # path, value, and the problem with it
_CLOUD: Mapping[str, Mapping[Value, str]] = {
    "preset": {"core": UP, "compute": RENDERED_ONLY},
    "size": {"single": UP, "tiny": RENDERED_ONLY, "small": RENDERED_ONLY, "medium": RENDERED_ONLY},
    "features.logging.cadf.enabled": switch(SMALL_CLOUD),
    "features.logging.cadf.driver": {"messagingv2": SMALL_CLOUD, "log": RENDERED_ONLY},
    "features.network_policies.enabled": switch(UP),
}


def _table() -> dict[str, dict[Value, str]]:
    found: dict[str, dict[Value, str]] = {}
    for part in (_CLOUD, *(declared.tested for declared in SERVICES)):
        for path, values in part.items():
            found.setdefault(path, {}).update(values)
    return found


TESTED: Mapping[str, Mapping[Value, str]] = _table()


def accepted() -> Iterator[tuple[str, Value]]:
    """Each path and accepted value of a choice: switches, enumerations, kinds of back ends."""
    for name in ("preset", "size", "features"):
        yield from _choices(OpenStackDeploymentSpec.model_fields[name].annotation, name)
    yield from ((path, value) for path, values in TESTED.items() if ANY_OTHER in values for value in values)


def _choices(kind: Any, path: str) -> Iterator[tuple[str, Value]]:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated or origin is list:
        yield from _choices(inner[0], path)
    elif origin in (Union, types.UnionType):
        for each in inner:
            yield from _choices(each, path)
    elif origin is Literal and len(inner) > 1:  # a single value cannot be chosen
        yield from ((path, value) for value in inner)
    elif origin is dict:
        if isinstance(inner[1], type) and issubclass(inner[1], Alternative):
            yield path.rpartition(".")[0], path.rpartition(".")[2]
        yield from _choices(inner[1], f"{path}.<name>")
    elif kind is bool:
        yield from ((path, value) for value in (True, False))
    elif isinstance(kind, type) and issubclass(kind, BaseModel) and not issubclass(kind, OffAnyway):
        for name, field in kind.model_fields.items():
            yield from _choices(field.annotation, f"{path}.{name}")


def untested(spec: BaseModel) -> Iterator[Untested]:
    """Explicitly set values of a cloud that no test uses; <name> in TESTED matches any name."""
    for name in ("preset", "size", "features"):
        yield from _untested(getattr(spec, name), name, name)


def untested_settings(service: str, settings: BaseModel) -> Iterator[Untested]:
    """The same for a single service; the path is that of a cloud."""
    yield from _untested(settings, f"features.{service}", f"features.{service}")


def _untested(value: Any, path: str, known: str) -> Iterator[Untested]:
    if isinstance(value, BaseModel):
        for name in sorted(value.model_fields_set):
            yield from _untested(getattr(value, name), f"{path}.{name}", f"{known}.{name}")
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if isinstance(each, Alternative):
                above, _, kind = path.rpartition(".")
                yield from _untested(kind, above, known.rpartition(".")[0])
            yield from _untested(each, f"{path}.{name}", f"{known}.{'<name>' if known in NAMED else name}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _untested(each, path, known)
    else:
        tests = TESTED.get(known, {})
        if tests.get(value, tests.get(ANY_OTHER, UP)) == RENDERED_ONLY:
            yield path, value, UNTESTED


NAMED = {path[: at - 1] for path in TESTED for at in range(len(path)) if path.startswith("<name>", at)}
"""Paths of mappings whose keys are names that users choose."""
