"""A controller is a declaration: which kind, what else it watches, how it looks and how it decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.plan import Key, Object, Plan
from stackwright.core.ports import Reader

Keys = Callable[[Object], Iterable[Key]]


@dataclass(frozen=True)
class Watch:
    """Another kind whose changes concern this controller: which of our objects a changed one belongs to."""

    kind: Kind
    keys: Keys


@dataclass(frozen=True)
class Controller:
    """name     also the field manager (stackwright-<name>) and a label of its metrics
    role     the container it runs in: osdpl, helmbundle, health, secrets or node
    observe  reads only; None when the object is gone and nothing is owed
    decide   pure: what was observed → Plan
    current  the object inside what was observed, for the report of its status
    """

    name: str
    role: str
    kind: Kind
    watches: tuple[Watch, ...]
    observe: Callable[[Reader, Key, float], Awaitable[Any | None]]
    decide: Callable[[Any], Plan]
    reports: bool = True

    @property
    def manager(self) -> str:
        return f"stackwright-{self.name}"


def by_owner(kind: str) -> Keys:
    """Keys of the owner of a kind, through ownerReferences."""

    def keys(obj: Object) -> Iterable[Key]:
        meta = obj["metadata"]
        return [
            (meta.get("namespace", ""), ref["name"]) for ref in meta.get("ownerReferences") or () if ref["kind"] == kind
        ]

    return keys


def by_label(label: str) -> Keys:
    """The key that a label names, in the object's namespace."""

    def keys(obj: Object) -> Iterable[Key]:
        meta = obj["metadata"]
        name = (meta.get("labels") or {}).get(label)
        return [(meta.get("namespace", ""), name)] if name else []

    return keys
