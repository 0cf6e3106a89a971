"""Texts with fields: {name} is replaced by a field, {name!j} by it as JSON has it, and so YAML too. Pure.

{{ and }} are braces. Nothing else of str.format is there: a width, an attribute or an index would let whoever wrote the
text take memory, or read what is no field. A text of a user's goes into a template by `literal`, or as a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_BRACES = {"{{": "{", "}}": "}"}
_PART = re.compile(r"\{\{|\}\}|\{(\w+)(!j)?\}")


def literal(text: str) -> str:
    """A text as a part of a template: it stands there as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def names(template: str) -> Iterator[tuple[str, bool]]:
    """The fields of a template, and whether each is quoted."""
    for part in _PART.finditer(template):
        if part[1]:
            yield part[1], part[2] is not None


def fill(template: str, fields: Mapping[str, str]) -> str:
    """The template with its fields. Braces in a field are no template."""

    def filled(part: re.Match[str]) -> str:
        if not part[1]:
            return _BRACES[part[0]]
        return json.dumps(fields[part[1]]) if part[2] else fields[part[1]]

    return _PART.sub(filled, template)
