"""The result of an inventory, or of the deletion of agents, in its ConfigMap. Pure.

The executor writes it, and later decisions read it. A ConfigMap that a user edited contains no result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping

from pydantic import TypeAdapter

from stackwright.core.objects import DIGEST, annotation
from stackwright.core.plan import Object

_HELD, _SINCE = "held.json", "since"
_HOLDINGS = TypeAdapter(dict[str, list[str]])


def name_of(service: str) -> str:
    """Name of the ConfigMap of a service object."""
    return f"{service}-inventory"


def result(held: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The data of the ConfigMap; `held` maps a back end to the resources in it, and an agent to its uses."""
    return {_HELD: json.dumps(held, sort_keys=True, ensure_ascii=False)}


def repeated(held: Mapping[str, Collection[str]], before: Object | None, now: str) -> dict[str, str]:
    """The data, with the time of the first of the successive attempts that had this result."""
    data, known = result(held), (before or {}).get("data") or {}
    return {**data, _SINCE: known.get(_SINCE, now) if known.get(_HELD) == data[_HELD] else now}


def holdings(inventory: Object | None) -> dict[str, list[str]]:
    """Back end → resources in it, or agent → its uses; empty without a valid result."""
    try:
        found = json.loads(((inventory or {}).get("data") or {}).get(_HELD) or "{}")
        return _HOLDINGS.validate_python(found, strict=True)
    except (ValueError, RecursionError):
        return {}


def times(inventory: Object | None) -> tuple[float, float]:
    """Time of the last attempt, -inf if unknown, and the seconds for which attempts have had its result."""
    made, since = annotation(inventory, DIGEST), str(((inventory or {}).get("data") or {}).get(_SINCE) or "")
    if not made.isdecimal():
        return -math.inf, 0.0
    return float(made), float(made) - float(since) if since.isdecimal() else 0.0
