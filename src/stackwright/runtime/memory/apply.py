"""Server-side apply as a pure function of the live and the applied object: merged object and new field owners.

The rules are those of the API server's structured merge: applied fields win; a field that this manager applied last
time but not now is removed unless another manager owns it; managers lose ownership of fields whose values changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.core.plan import Object
from stackwright.runtime.memory.ownership import (
    MISSING,
    Paths,
    changed,
    element,
    fields_v1,
    from_fields_v1,
    lost,
    paths_of,
    with_parents,
    without,
)
from stackwright.runtime.memory.shape import Shape

_NEVER_OWNED = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
            "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
        )
    }
)  # fmt: skip


@dataclass(frozen=True)
class Owner:
    """The identity of an entry of managedFields."""

    manager: str
    operation: str  # Apply or Update
    subresource: str = ""


Owners = dict[Owner, Paths]


def owners_of(obj: Object) -> Owners:
    return {
        Owner(entry["manager"], entry["operation"], entry.get("subresource", "")): from_fields_v1(entry["fieldsV1"])
        for entry in obj["metadata"].get("managedFields") or ()
    }


def apply(shape: Shape, live: Object, wanted: Object, owner: Owner) -> tuple[Object, Owners]:
    """One server-side apply with force; `wanted` contains only fields that this endpoint may write."""
    owners = owners_of(live)
    mine = paths_of(shape, wanted) - _NEVER_OWNED
    dropped = owners.get(owner, frozenset()) - mine
    owners[owner] = mine
    merged = _merge(shape, live, wanted)
    if dropped:
        held = with_parents(shape, frozenset().union(*owners.values()))
        merged = without(shape, merged, with_parents(shape, dropped) - held - _NEVER_OWNED)
    return merged, _after(shape, live, merged, owners, owner)


def update(shape: Shape, live: Object, new: Object, owner: Owner) -> Owners:
    """Owners after an update or patch: the writer owns the changed fields, all others lose them."""
    owners = owners_of(live)
    before, after = paths_of(shape, live), paths_of(shape, new)
    now = lost(after, set(changed(shape, live, new)))
    owners[owner] = (owners.get(owner, frozenset()) | now) - (before - after) - _NEVER_OWNED
    return _after(shape, live, new, owners, owner)


def _after(shape: Shape, live: Object, new: Object, owners: Owners, owner: Owner) -> Owners:
    """Remove changed and removed fields from the other owners, and owners without fields."""
    changes = set(changed(shape, live, new))
    kept = {other: paths if other == owner else paths - lost(paths, changes) for other, paths in owners.items()}
    return {other: paths for other, paths in kept.items() if paths}


def _merge(shape: Shape, live: Any, wanted: Any) -> Any:
    if isinstance(live, dict) and isinstance(wanted, dict) and not shape.atomic:
        return {**live, **{k: _merge(shape.field(k), live[k], v) if k in live else v for k, v in wanted.items()}}
    if isinstance(live, list) and isinstance(wanted, list) and shape.keys is not None:
        return _merge_items(shape, live, wanted)
    return wanted


def _merge_items(shape: Shape, live: list[Any], wanted: list[Any]) -> list[Any]:
    """Merge items by identity, in the order of the API server: that of the applier for the items it applies."""
    below = {element(shape, item): item for item in live}
    above = {element(shape, item): item for item in wanted}
    left, right = list(below), list(above)
    shared = [key for key in right if key in below]
    out: list[str] = []
    while left or right:
        if left and left[0] not in above:
            out.append(left.pop(0))
        elif left and (left[0] in out or (right and left[0] != right[0] and shared and left[0] != shared[0])):
            left.pop(0)
        else:
            out.append(right.pop(0))
            if shared and shared[0] == out[-1]:
                shared.pop(0)
            if left and left[0] == out[-1]:
                left.pop(0)
    return [_merge_item(shape, below.get(key, MISSING), above.get(key, MISSING)) for key in out]


def _merge_item(shape: Shape, below: Any, above: Any) -> Any:
    if above is MISSING:
        return below
    return above if below is MISSING else _merge(shape.item(), below, above)


def managed_fields(owners: Mapping[Owner, Paths], api_version: str, now: str) -> list[dict[str, Any]]:
    """The entries of metadata.managedFields."""
    entries = []
    for owner, paths in owners.items():
        entry = {
            "manager": owner.manager,
            "operation": owner.operation,
            "apiVersion": api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields_v1(paths),
            "time": now,
        }
        entries.append({**entry, "subresource": owner.subresource} if owner.subresource else entry)
    return entries
