"""A spec that replaces another one whole, whoever owns its fields."""

from __future__ import annotations

from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.objects import key_of
from stackwright.core.plan import Object
from stackwright.core.ports import Cluster


async def replace_spec(cluster: Cluster, kind: Kind, wanted: Object, manager: str) -> Object:
    """Apply the spec as a field manager, so that its next `apply` may take away what this one brought.

    What other field managers own and the spec does not have is taken away by a patch.
    """
    after = await cluster.apply(kind, wanted, manager)
    if surplus := difference(after.get("spec") or {}, wanted["spec"]):
        after = await cluster.patch(kind, key_of(wanted), {"spec": surplus})
    return after


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A JSON merge patch (RFC 7386) that turns one spec into the other; empty when they are equal."""
    change: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            if inner := difference(before, value):
                change[name] = inner
        elif before != value or name not in old:
            change[name] = value
    return change
