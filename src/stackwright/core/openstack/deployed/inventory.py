"""Reads and builds the ConfigMap with the result of an inventory, or of a deletion of agents. Pure.

The executor writes it, and later decisions read it. A ConfigMap that a user edited contains no result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping

from pydantic import TypeAdapter

from stackwright.core.objects import DIGEST, annotation
from stackwright.core.plan import Object

CONFIRM = 10.0  # seconds between two lists, over separate connections, that together prove absence
SHARE = 4  # the time until the next list is that for which the result has been the same, divided by this
SUCCESSIVE = 900.0  # longest time between successive results; after a longer one, a result is a first one
_HELD, _SINCE = "held.json", "since"
_HOLDINGS = TypeAdapter(dict[str, list[str]])


def name_of(service: str) -> str:
    """Name of the ConfigMap of a service object."""
    return f"{service}-inventory"


def result(held: Mapping[str, Collection[str]], before: Object | None, now: int) -> dict[str, str]:
    """The data of the ConfigMap; `held` maps a back end to the resources in it, and an agent to its uses.

    It has the time of the first of the successive attempts that had this result; `before` has the previous one.
    """
    text = json.dumps(held, sort_keys=True, ensure_ascii=False)
    (made, same), known = times(before), ((before or {}).get("data") or {}).get(_HELD)
    successive = 0 <= now - made <= SUCCESSIVE and 0 <= same < math.inf  # not if the clock was ahead
    return {_HELD: text, _SINCE: str(int(made - same) if known == text and successive else now)}


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


def period(same: float, shortest: float, longest: float) -> float:
    """Seconds until the next attempt. They grow while the result stays the same, for `same` seconds now."""
    return min(max(shortest, same / SHARE), longest)
