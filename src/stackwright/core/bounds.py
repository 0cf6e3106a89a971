"""Limits of the size of a JSON text, a YAML document or an object, checked before it is built or validated. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

DEEPEST = 100  # levels of a YAML document or a spec
VALUES = 20_000  # of a spec; the largest known cloud has some hundreds
DIRECTIVE = re.compile(r"(?:^|[\n\r\x85\u2028\u2029])\ufeff?%")  # of YAML; libyaml compares each with all others
LONGEST_NAME = 512  # characters of a field's name; a label of Kubernetes with its value has 382


def values_in(text: bytes | bytearray) -> int:
    """A bound for a JSON text in UTF-8: it has at most one value more than this. Commas in strings are counted too."""
    return sum(map(text.count, (b",", b"[", b"{")))


def has_more(value: Any, most: int = VALUES) -> bool:
    """Whether a value, with all values in it at any depth, consists of more than `most` values."""
    todo = [value]
    while todo and most >= 0:
        most -= 1
        match todo.pop():
            case Mapping() as fields:
                todo.extend(fields.values())
            case list() as items:
                todo.extend(items)
    return most < 0


def is_deeper(value: Any, most: int = DEEPEST) -> bool:
    """Whether mappings and lists are nested in more than `most` levels."""
    level = [value] if isinstance(value, Mapping | list) else []
    for _ in range(most):
        below = (each for outer in level for each in (outer.values() if isinstance(outer, Mapping) else outer))
        level = [each for each in below if isinstance(each, Mapping | list)]
    return bool(level)


def with_long_name(value: Any, most: int = LONGEST_NAME) -> tuple[str | int, ...] | None:
    """The path of a mapping with a field whose name has more than `most` characters; None without one."""
    todo: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while todo:
        path, found = todo.pop()
        if isinstance(found, Mapping):
            if any(len(name) > most for name in found):
                return path
            todo.extend(((*path, name), each) for name, each in found.items() if isinstance(each, Mapping | list))
        elif isinstance(found, list):
            todo.extend(((*path, index), each) for index, each in enumerate(found) if isinstance(each, Mapping | list))
    return None
