"""Reads a cloud and its kept revisions."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.core.secrets import revisions


@dataclass(frozen=True)
class Observed:
    obj: Object
    kept: tuple[revisions.Revision, ...] = ()


async def observe(kind: Kind, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(kind, key)
    if obj is None:
        return None
    obj = {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
    return Observed(obj, tuple(revisions.of(obj, await reader.list(SECRET, key[0], revisions.labels(obj)))))
