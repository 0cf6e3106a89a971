"""What changed between two nested values, a line a leaf: `conf.keystone.token.expiration: 43200 → 3600`. Pure.

Names and values are those of users: what a terminal would obey is escaped.
Values that look like passwords are not shown: whoever writes one into an override shall not find it in a CI log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.errors import printable

Path = tuple[str, ...]
HIDDEN = "(hidden)"
_SENSITIVE = re.compile(
    r"(password|passwd|passphrase|private_key|encryption_key|api_?key|(shared|client)_secret|secret_key|token|transport_url|connection)$",
    re.IGNORECASE,
)
LONG = 100


class Absent:
    """Stands for a value that is not there; None is a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


@dataclass(frozen=True)
class Change:
    path: Path
    old: Any
    new: Any

    @property
    def dotted(self) -> str:
        return dotted(self.path)

    def __str__(self) -> str:
        if isinstance(self.old, Absent):
            return f"{self.dotted}: {shown(self.new, self.path)}"
        if isinstance(self.new, Absent):
            return f"{self.dotted}: {shown(self.old, self.path)} → removed"
        if isinstance(self.old, list) and isinstance(self.new, list) and _scalars(self.old) and _scalars(self.new):
            added = [f"+ {shown(item, self.path)}" for item in self.new if item not in self.old]
            removed = [f"- {shown(item, self.path)}" for item in self.old if item not in self.new]
            return f"{self.dotted}: {', '.join([*removed, *added]) or 'another order'}"
        return f"{self.dotted}: {shown(self.old, self.path)} → {shown(self.new, self.path)}"

    def as_dict(self) -> dict[str, Any]:
        """For programs: a missing side has no key."""
        sides = {"old": self.old, "new": self.new}
        return {"path": self.dotted, **{k: masked(v, self.path) for k, v in sides.items() if not isinstance(v, Absent)}}


def changes(old: Any, new: Any, path: Path = ()) -> list[Change]:
    """Every leaf that differs, by path."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found = []
        for key in sorted({*old, *new}, key=str):
            found += changes(old.get(key, ABSENT), new.get(key, ABSENT), (*path, str(key)))
        return found
    if isinstance(new, Mapping) and new and isinstance(old, Absent):
        return [change for key in sorted(new, key=str) for change in changes(ABSENT, new[key], (*path, str(key)))]
    if isinstance(old, Mapping) and old and isinstance(new, Absent):
        return [change for key in sorted(old, key=str) for change in changes(old[key], ABSENT, (*path, str(key)))]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and not _scalars(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [change for i, (a, b) in pairs for change in changes(a, b, (*path, f"[{i}]"))]
    return [] if _same(old, new) else [Change(path, old, new)]


def _same(old: Any, new: Any) -> bool:
    """True is not 1 here: a chart renders them differently."""
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)


def _scalars(items: list[Any]) -> bool:
    return not any(isinstance(item, Mapping | list) for item in items)


def dotted(path: Path) -> str:
    """a.b[0]."c.d": a key with a dot, or with what cannot be printed, is quoted, so that a path can be read back."""
    text = ""
    for part in path:
        if re.fullmatch(r"\[\d+\]", part):
            text += part
        else:
            text += ("." if text else "") + (json.dumps(part) if "." in part or not part.isprintable() else part)
    return text


def shown(value: Any, path: Path = ()) -> str:
    """A value in a line; strings bare where that cannot be mistaken."""
    value = masked(value, path)
    if isinstance(value, str):
        plain = bool(value) and value.strip() == value and value not in ("true", "false", "null")
        bare = plain and value.isprintable() and not re.fullmatch(r"[-\d.]+", value)
        text = value if bare else json.dumps(value, ensure_ascii=False)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    text = printable(text)
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def masked(value: Any, path: Path = ()) -> Any:
    """The value with what looks like a password hidden, at any depth."""
    if isinstance(value, Mapping):
        return {key: masked(child, (*path, str(key))) for key, child in value.items()}
    if isinstance(value, list):
        return [masked(child, path) for child in value]
    named = next((part for part in reversed(path) if not part.startswith("[")), "")
    return HIDDEN if isinstance(value, str) and value and _SENSITIVE.search(named) else value
