"""Validation of overrides against the schema of their chart, before anything is applied. Pure.

An override is one of several layers, so `required` applies only inside items of lists, which are complete. A null
removes a value, `~x` removes an item of a list, and a reference to a Secret may replace any value. Wrong types, names
and ranges are errors in any merge result. The schemas are our own and use only KEYWORDS, which a test checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stackwright.api.errors import bounded, path_text, repeatable, shown
from stackwright.api.wording import BOOL, EMPTY, FLOAT, INT, LIST, MAPPING, TEXT, choices, did_you_mean
from stackwright.core.objects import mapping

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema]  # by chart
Path = tuple[str | int, ...]  # names of fields and indices of lists

# Keywords that constrain nothing, or only the merged result.
SILENT = {"$schema", "title", "description", "default", "uniqueItems", "minItems", "minProperties"}
TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "boolean": (BOOL, lambda value: isinstance(value, bool)),
    "string": (TEXT, lambda value: isinstance(value, str)),
    "integer": (INT, lambda value: _number(value) and float(value).is_integer()),
    "number": (FLOAT, lambda value: _number(value)),
    "array": (LIST, lambda value: isinstance(value, list)),
    "object": (MAPPING, lambda value: isinstance(value, Mapping)),
    "null": ("takes null", lambda value: value is None),
}


def values_errors(schemas: Schemas, chart: str, values: Mapping[str, Any], where: str) -> list[str]:
    """Errors of values that a chart would reject; `where` is their path. Unknown charts are not checked."""
    schema = schemas.get(chart, {})
    nodes = ((f"{where}.overrides.{name}.labels.{label}", body) for name, label, body in of_nodes(values))
    return bounded(error for path, body in ((where, values), *nodes) for error in value_errors(schema, body, path))


def of_nodes(values: Any) -> Iterator[tuple[str, str, Any]]:
    """(DaemonSet, label, values) of values for single nodes, which a chart merges after Helm has checked the schema."""
    for daemonset, component in mapping(mapping(values).get("overrides")).items():
        for label, body in mapping(mapping(component).get("labels")).items():
            if isinstance(body, Mapping):
                yield str(daemonset), str(label), body


def value_errors(schema: Schema, value: Any, where: str, *, whole: bool = False) -> Iterator[str]:
    """Errors in a value and everything below it; `where` is its path in the user's object.

    whole  the value is complete: required fields must be set, and nothing is removed
    """
    above = re.split(r"[.\[\]]+", where.rstrip("]"))
    return (
        _error(path_text(path, where), problem, found, _is_repeatable(above, path, found))
        for path, problem, found in _errors(schema, value, (), whole)
    )


def _is_repeatable(above: list[str], path: Path, value: Any) -> bool:
    """Whether an error may quote a value, judged by each name in its path as a whole and by its parts between dots."""
    parts = [part for name in path if isinstance(name, str) for part in name.split(".")]
    return repeatable([*above, *path], value) and repeatable([*above, *parts], value)


def _errors(schema: Schema, value: Any, path: Path, whole: bool) -> Iterator[tuple[Path, str, Any]]:
    """(path below the value, problem, invalid value)"""
    if not whole and _is_reference(value):
        return
    types = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", list(TYPES))
    if not any(TYPES[type_][1](value) for type_ in types):
        words = [TYPES[type_][0] for type_ in types if type_ != "null"] or ["takes null"]
        yield path, " or ".join([words[0], *(word.removeprefix("takes ") for word in words[1:])]), value
        return
    for keyword, check in _LIMITS.items():
        if keyword in schema and (problem := check(value, schema[keyword])):
            yield path, problem, value
    if isinstance(value, Mapping):
        yield from _fields(schema, value, path, whole)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not (isinstance(item, str) and item.startswith("~")):
                yield from _errors(schema.get("items", {}), item, (*path, index), True)


def _fields(schema: Schema, value: Mapping[str, Any], path: Path, whole: bool) -> Iterator[tuple[Path, str, Any]]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    value = {name: child for name, child in value.items() if child is not None}
    if whole:
        yield from (((*path, name), "is required", {}) for name in schema.get("required", ()) if name not in value)
    for name, child in value.items():
        here = (*path, name)
        if name in known:
            yield from _errors(known[name], child, here, whole)
        elif others is False:
            yield here, f"the chart has no such value; {choices(name, sorted(known))}", {}
        else:
            if "propertyNames" in schema:
                yield from _errors({"type": "string", **schema["propertyNames"]}, name, here, True)
            yield from _errors(others if isinstance(others, Mapping) else {}, child, here, whole)


def _pattern(value: Any, pattern: str) -> str:
    return "" if not isinstance(value, str) or re.search(pattern, value) else f"must match {pattern}"


def _not(value: Any, schema: Schema) -> str:
    return "is not allowed" if not list(_errors(schema, value, (), True)) else ""


# Keyword → function of the value and the keyword's argument that returns the error, or an empty text.
_LIMITS: Mapping[str, Callable[[Any, Any], str]] = {
    "enum": lambda value, allowed: (
        "" if value in allowed else f"is not allowed; {did_you_mean(allowed, value)}allowed: {_listed(allowed)}"
    ),
    "pattern": _pattern,
    "not": _not,
    "minLength": lambda value, least: (
        f"must have at least {least} characters" if isinstance(value, str) and len(value) < least else ""
    ),
    "minimum": lambda value, least: f"must be at least {least}" if _number(value) and value < least else "",
    "maximum": lambda value, most: f"must be at most {most}" if _number(value) and value > most else "",
}
KEYWORDS = {*_LIMITS, *SILENT, "type", "properties", "additionalProperties", "propertyNames", "items", "required"}


def _error(where: str, problem: str, value: Any, is_shown: bool) -> str:
    if isinstance(value, str) and not value and problem.startswith("must have at least"):
        return f"{where}: {EMPTY}"
    if isinstance(value, Mapping | list) or not is_shown:
        return f"{where}: {problem}"
    return (
        f"{where}: {shown(value)} {problem}" if problem.startswith("is ") else f"{where}: {problem}, not {shown(value)}"
    )


def _listed(allowed: list[Any]) -> str:
    return ", ".join(shown(each) for each in allowed)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_reference(value: Any) -> bool:
    return isinstance(value, Mapping) and "value_from" in value
