"""Limits of the size of a JSON text, a YAML document or an object, checked before it is built or validated. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEEPEST = 100  # levels of a YAML document
VALUES = 20_000  # of a spec; the largest known cloud has some hundreds


def values_in(text: bytes | bytearray) -> int:
    """An upper bound, but for one, of the values in a text of JSON in UTF-8: commas in texts count too."""
    return sum(map(text.count, (b",", b"[", b"{")))


def has_more(value: Any, most: int = VALUES) -> bool:
    """Whether a value contains more values than that, at any depth."""
    todo = [value]
    while todo and most >= 0:
        most -= 1
        match todo.pop():
            case Mapping() as fields:
                todo.extend(fields.values())
            case list() as items:
                todo.extend(items)
    return most < 0
