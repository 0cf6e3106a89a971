"""Successful responses of the Kubernetes API as dicts.

A response counts only if it is about the requested object or kind: a proxy may send objects and lists of its own, and
an empty list would mean that no object exists.
"""

from __future__ import annotations

from typing import Any

from lightkube.core import decoders

from stackwright.adapters.kubernetes.errors import Call
from stackwright.core.errors import Unavailable
from stackwright.core.plan import Object


class _Plain:
    """Model class for lightkube that returns the decoded dict unchanged."""

    def __new__(cls, decoded: Any) -> Any:
        return decoded


def plain(content: bytes) -> Object:
    found: Object = decoders.decode_object(content, _Plain)
    return found


def decoded(call: Call, content: bytes) -> Object:
    """Raises Unavailable for a response that is no object."""
    try:
        found = plain(content)
    except Exception:  # of the library's decoder
        found = {}
    if not isinstance(found, dict) or not found:
        raise Unavailable(f"{call}: the response is no object in JSON")
    return found


def asked_for(call: Call, content: bytes) -> Object:
    """The object of the call. Raises Unavailable for another one."""
    found = decoded(call, content)
    if found.get("kind") != call.kind.kind or _name(found) != call.key[1]:
        raise Unavailable(f"{call}: the response is another object")
    return found


def continues(call: Call, page: Object) -> str:
    """The token of the next page of a list; empty for the last one."""
    metadata = page.get("metadata") or {}
    token = metadata.get("continue") or "" if isinstance(metadata, dict) else None
    if not isinstance(token, str):
        raise Unavailable(f"{call}: the response is no list of objects")
    return token


def items_of(call: Call, page: Object) -> list[Object]:
    """The objects of one page of a list. Raises Unavailable for a list of other objects."""
    items = [] if page.get("items", "") is None else page.get("items")  # null for an empty list of some servers
    if not str(page.get("kind")).endswith("List") or page.get("apiVersion") != call.kind.api_version:
        raise Unavailable(f"{call}: the response is no list of this kind")
    if not isinstance(items, list) or not all(map(_name, items)):
        raise Unavailable(f"{call}: the response is no list of objects")
    for item in items:  # items of built-in kinds lack these two
        item.setdefault("apiVersion", call.kind.api_version)
        item.setdefault("kind", call.kind.kind)
    return items


def _name(obj: Any) -> str:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
