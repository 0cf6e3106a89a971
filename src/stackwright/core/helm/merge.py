"""Merge of layered values: dicts merge deeply, lists unite, a list item `~x` removes x, scalars replace.

A layer may not change the shape of a value (a dict over a string, a list over a dict): that is nearly always a mistake
in an override, so it raises MergeConflict with the path of the value. `None` removes a key and
never reaches a chart, whose default then applies: charts have an empty value for each default that can be turned off.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

Values = dict[str, Any]


class MergeConflict(ValueError):
    """An override has another shape than the value in the layers below it."""

    def __init__(self, path: str, below: object, above: object) -> None:
        self.path, self.problem = path, f"{_shape(above)} cannot override {_shape(below)}"
        super().__init__(f"{path}: {self.problem}")


def merge(*layers: Mapping[str, Any]) -> Values:
    """Merge layers in ascending priority into a new dict; the inputs are not changed.

    Raises MergeConflict if two layers have different shapes for a value.
    """
    result: Values = {}
    for layer in layers:
        result = _merge_dicts(result, layer, "")
    return result


def _merge_dicts(below: Mapping[str, Any], above: Mapping[str, Any], path: str) -> Values:
    result = dict(below)
    for key, value in above.items():
        if value is None:
            result.pop(key, None)
        elif (under := result.get(key)) is None:
            result[key] = _clean(value)
        else:
            result[key] = _merge_value(under, value, f"{path}.{key}" if path else str(key))
    return result


def _merge_value(below: Any, above: Any, path: str) -> Any:
    if _shape(below) != _shape(above):
        raise MergeConflict(path, below, above)
    if isinstance(below, Mapping):
        # A reference to a Secret is one value; a merge of two references would be invalid.
        return dict(above) if "value_from" in above or "value_from" in below else _merge_dicts(below, above, path)
    if isinstance(below, list):
        return _merge_lists(below, above)
    return above


def _merge_lists(below: list[Any], above: Iterable[Any]) -> list[Any]:
    """Merge two lists in linear time; items that exist in `below` keep their position."""
    result = {_key(item): item for item in below}
    for item in above:
        if isinstance(item, str) and item.startswith("~"):
            result.pop(item[1:], None)
        else:
            cleaned = _clean(item)
            result.setdefault(_key(cleaned), cleaned)
    return list(result.values())


def _key(value: Any) -> Hashable:
    """A hashable key that is equal for equal values only."""
    if isinstance(value, Mapping):
        return frozenset((name, _key(child)) for name, child in value.items())
    return tuple(map(_key, value)) if isinstance(value, list) else value


def _clean(value: Any) -> Any:
    """A value without removals, for a path that no lower layer has: removals must not reach a chart."""
    if isinstance(value, Mapping):
        return {key: _clean(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return _merge_lists([], value)
    return value


def _shape(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list) else "a single value"
