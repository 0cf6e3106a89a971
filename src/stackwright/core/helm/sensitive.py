"""Sensitive options in free-form values, given as `{value_from: {secret_key_ref: {name, key}}}` below conf.<file>.

They never become Helm values. This module removes them from the values, and the operator builds a Secret with an
oslo.config snippet from the Secrets they reference, which is mounted into the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.api.errors import name_of, path_text
from stackwright.api.fields.lines import OPTION
from stackwright.api.fields.naming import OBJECT, SECRET_KEY

Sections = dict[str, dict[str, tuple[str, str]]]


class Misplaced(ValueError):
    """A secret reference at a path that the snippet cannot express."""


def cut(values: Mapping[str, Any], conf_file: str | None) -> tuple[dict[str, Any], Sections]:
    """The values without secret references, and the references as section → option → (Secret, key).

    Raises Misplaced for a reference that is not at conf.<conf_file>.<SECTION>.<option>, ValueError for an invalid one.
    """
    sections: Sections = {}

    def walk(node: Any, path: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [walk(item, (*path, str(index))) for index, item in enumerate(node)]
        if not isinstance(node, Mapping):
            return node
        if "value_from" in node:
            if conf_file is None or len(path) != 4 or path[:2] != ("conf", conf_file):
                allowed = f"allowed at conf.{conf_file}.<SECTION>.<option> only"
                rule = allowed if conf_file else "not allowed in values of this chart"
                raise Misplaced(f"{path_text(path)}: value_from is {rule}")
            for name in path[2:]:
                if not OPTION.matches(name):
                    raise ValueError(f"conf.{conf_file}: {name_of(name)} {OPTION.message}")
            try:
                sections.setdefault(path[2], {})[path[3]] = _reference(node)
            except ValueError as error:
                raise ValueError(f"{path_text(path)}{error}") from None
            return None
        walked = {key: walk(value, (*path, str(key))) for key, value in node.items()}
        return {key: value for key, value in walked.items() if value is not None or node[key] is None}

    return walk(values, ()), sections


def _reference(node: Mapping[str, Any]) -> tuple[str, str]:
    """Name and key. The ValueError continues the path of the node."""
    try:
        reference = node["value_from"]["secret_key_ref"]
        name, key = reference["name"], reference["key"]
    except (KeyError, TypeError):
        raise ValueError(": write value_from as {secret_key_ref: {name: …, key: …}}") from None
    if (
        set(node) != {"value_from"}
        or set(node["value_from"]) != {"secret_key_ref"}
        or set(reference) != {"name", "key"}
    ):
        raise ValueError(": value_from takes only secret_key_ref with name and key")
    if not (isinstance(name, str) and OBJECT.matches(name)):
        raise ValueError(f".value_from.secret_key_ref.name: {OBJECT.problem}")
    if not (isinstance(key, str) and SECRET_KEY.matches(key)):
        raise ValueError(f".value_from.secret_key_ref.key: {SECRET_KEY.problem}")
    return name, key
