"""Texts with fields: {name} is replaced by a field, {name!j} by its JSON, which is also YAML. Pure.

{{ and }} are braces. No other feature of str.format works: with a width, an attribute or an index, the author of a text
could exhaust the memory, or read other values. User text is added to a template by `literal`, or as a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_BRACES = {"{{": "{", "}}": "}"}
_PART = re.compile(r"\{\{|\}\}|\{(\w+)(!j)?\}")


def literal(text: str) -> str:
    """A text as an unchanged part of a template."""
    return text.replace("{", "{{").replace("}", "}}")


def names(template: str) -> Iterator[tuple[str, bool]]:
    """The fields of a template, and whether each is quoted."""
    for part in _PART.finditer(template):
        if part[1]:
            yield part[1], part[2] is not None


def fill(template: str, fields: Mapping[str, str]) -> str:
    """The template with its fields. Braces in the fields stay unchanged."""

    def filled(part: re.Match[str]) -> str:
        if not part[1]:
            return _BRACES[part[0]]
        return json.dumps(fields[part[1]]) if part[2] else fields[part[1]]

    return _PART.sub(filled, template)
