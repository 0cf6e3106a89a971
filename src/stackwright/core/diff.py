"""The difference of two nested values, one line per leaf: `conf.keystone.token.expiration: 43200 → 3600`. Pure.

Names and values come from users: control characters are escaped.
Possible secrets are not shown (`api/secrecy.py`): a secret in an override must not appear in a CI log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.errors import printable, shortened
from stackwright.api.secrecy import blanked, is_free, leads_to_secrets

Path = tuple[str, ...]
LONG = 100


class Absent:
    """Stands for an absent value; None is a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


@dataclass(frozen=True)
class Masked:
    """Stands for a value that may be secret: it can be compared, but only `text` is shown."""

    value: Any = field(repr=False)
    text: str


@dataclass(frozen=True)
class Change:
    """A changed value; possible secrets are masked."""

    path: Path
    old: Any
    new: Any

    @property
    def dotted(self) -> str:
        return dotted(self.path)

    def __str__(self) -> str:
        if isinstance(self.old, Absent):
            return f"{self.dotted}: {shown(self.new)}"
        if isinstance(self.new, Absent):
            return f"{self.dotted}: {shown(self.old)} → removed"
        if isinstance(self.old, list) and isinstance(self.new, list) and _scalars(self.old) and _scalars(self.new):
            added = [f"+ {shown(item)}" for item in self.new if item not in self.old]
            removed = [f"- {shown(item)}" for item in self.old if item not in self.new]
            return f"{self.dotted}: {', '.join([*removed, *added]) or 'another order'}"
        return f"{self.dotted}: {shown(self.old)} → {shown(self.new)}"

    def as_dict(self) -> dict[str, Any]:
        """The change as data for programs; an absent value has no key."""
        sides = {"old": self.old, "new": self.new}
        return {"path": self.dotted, **{k: _plain(v) for k, v in sides.items() if not isinstance(v, Absent)}}


def changes(old: Any, new: Any, path: Path = ()) -> list[Change]:
    """Every leaf that differs, by path. Without a path, the values are those of a chart, where fields may have any
    name.
    """
    return _changes(_masked(old, path), _masked(new, path), path)


def _changes(old: Any, new: Any, path: Path) -> list[Change]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found = []
        for key in sorted({*old, *new}, key=str):
            found += _changes(old.get(key, ABSENT), new.get(key, ABSENT), (*path, str(key)))
        return found
    if isinstance(new, Mapping) and new and isinstance(old, Absent):
        return [change for key in sorted(new, key=str) for change in _changes(ABSENT, new[key], (*path, str(key)))]
    if isinstance(old, Mapping) and old and isinstance(new, Absent):
        return [change for key in sorted(old, key=str) for change in _changes(old[key], ABSENT, (*path, str(key)))]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and not _scalars(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [change for i, (a, b) in pairs for change in _changes(a, b, (*path, f"[{i}]"))]
    return [] if _same(old, new) else [Change(path, old, new)]


def _same(old: Any, new: Any) -> bool:
    """Equality in which True is not 1: a chart renders them differently."""
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)


def _scalars(items: list[Any]) -> bool:
    return not any(isinstance(item, Mapping | list) for item in items)


def dotted(path: Path) -> str:
    """a.b[0]."c.d": a key with a dot or an unprintable character is quoted, so that a path can be parsed."""
    text = ""
    for part in path:
        if re.fullmatch(r"\[\d+\]", part):
            text += part
        else:
            text += ("." if text else "") + (json.dumps(part) if "." in part or not part.isprintable() else part)
    return text


def shown(value: Any) -> str:
    """A value in one line; strings without quotes if that is unambiguous."""
    value = _plain(value)
    if isinstance(value, str):
        plain = bool(value) and value.strip() == value and value not in ("true", "false", "null")
        bare = plain and value.isprintable() and not re.fullmatch(r"[-\d.]+", value)
        text = value if bare else json.dumps(value, ensure_ascii=False)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return shortened(printable(text), LONG)


def _masked(value: Any, path: Path) -> Any:
    """The value without possible secrets, at any depth."""
    if isinstance(value, Absent):
        return value
    above = [part for part in path if not part.startswith("[")]
    return blanked(value, "", any(map(leads_to_secrets, above)), is_free(above, not path), Masked)


def _plain(value: Any) -> Any:
    if isinstance(value, Masked):
        return value.text
    if isinstance(value, Mapping):
        return {key: _plain(child) for key, child in value.items()}
    return [_plain(child) for child in value] if isinstance(value, list) else value
