"""Shapes of JSON that other systems define, for the few fields that we read. Pure.

A shape is `str`, `bool`, a Struct, a ListOf or a MapOf. Undeclared fields may have any value, and null means an absent
field. `misfits` returns errors for users; `fitted` removes invalid parts, for code that reads the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Struct:
    """A mapping with these fields. It is invalid as a whole if a field of `needs` is absent or empty."""

    fields: Mapping[str, Shape]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ListOf:
    item: Shape


@dataclass(frozen=True)
class MapOf:
    """A mapping of any names to values of one shape."""

    value: Shape


Shape = type | Struct | ListOf | MapOf
_WANTED = {str: "takes text", bool: "takes true or false", ListOf: "takes a list"}
_GIVEN = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a mapping"}


def misfits(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """Errors that name field and problem, and never repeat a value."""
    if value is None:
        return
    if isinstance(shape, ListOf) and isinstance(value, list):
        for at, each in enumerate(value):
            yield from misfits(each, shape.item, f"{path}[{at}]")
    elif isinstance(shape, MapOf) and isinstance(value, Mapping):
        for name, each in value.items():
            yield from misfits(each, shape.value, f"{path}.{name}")
    elif isinstance(shape, Struct) and isinstance(value, Mapping):
        for name, field in shape.fields.items():
            below = f"{path}.{name}" if path else name
            if name in shape.needs and value.get(name) in (None, ""):
                yield f"{below}: is required"
            else:
                yield from misfits(value.get(name), field, below)
    elif not (isinstance(shape, type) and isinstance(value, shape)):
        wanted = _WANTED.get(shape if isinstance(shape, type) else type(shape), "takes a mapping")
        yield f"{path}: {wanted}, not {_GIVEN.get(type(value), 'this value')}"


def fitted(value: Any, shape: Shape) -> Any:
    """The value without invalid parts; None if nothing remains. A bool keeps any value, because only its truth is read:
    an invalid value must not end a pause.
    """
    if isinstance(shape, Struct) and isinstance(value, Mapping):
        known = {name: fitted(value.get(name), field) for name, field in shape.fields.items()}
        if not all(known[name] for name in shape.needs):
            return None
        return {name: each for name, each in {**value, **known}.items() if name not in known or each is not None}
    if isinstance(shape, MapOf) and isinstance(value, Mapping):
        every = {name: fitted(each, shape.value) for name, each in value.items()}
        return {name: each for name, each in every.items() if each is not None}
    if isinstance(shape, ListOf) and isinstance(value, list):
        items = (fitted(each, shape.item) for each in value)
        return [each for each in items if each is not None]
    return value if shape is bool or (isinstance(shape, type) and isinstance(value, shape)) else None
