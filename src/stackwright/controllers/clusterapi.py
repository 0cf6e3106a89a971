"""Reads of Cluster API's own kinds, which may not be installed: then nothing is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stackwright.api.meta import Kind
from stackwright.api.naming import OBJECT
from stackwright.core.plan import Key, Object
from stackwright.core.ports import NotServed, Reader


async def get_if_served(reader: Reader, kind: Kind, key: Key) -> Object | None:
    """In the newest version that is served. Labels and owner references may hold text that names no object."""
    if not OBJECT.matches(key[1]):
        return None
    for version in (kind.version, *kind.also):
        try:
            return await reader.get(replace(kind, version=version), key)
        except NotServed:
            continue
    return None


async def list_if_served(
    reader: Reader, kind: Kind, namespace: str, labels: Mapping[str, str] | None = None
) -> list[Object] | None:
    """None where the kind is not installed."""
    try:
        return await reader.list(kind, namespace, labels)
    except NotServed:
        return None
