"""Replacement of a whole spec, regardless of the field managers that own its fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.errors import Conflict
from stackwright.core.objects import key_of
from stackwright.core.plan import Object
from stackwright.core.ports import Cluster

TRIES = 10  # attempts, because the operator writes the status concurrently when it observes the new spec
SPEC = "f:spec"  # the spec in managedFields


async def replace_spec(cluster: Cluster, kind: Kind, wanted: Object, manager: str) -> Object:
    """Replace the spec of an object in one write, so that it is either the old or the new spec at any time.

    An apply removes only fields that no other field manager owns. So if the spec has other managers, it is patched
    first; a refused patch changes no field. Then `manager` becomes the only owner of the spec, so that its next apply
    can remove fields that this one added.

    Raises Conflict if other writes interfere at every attempt, TerminalError if the API rejects the new spec.
    """
    for _ in range(TRIES - 1):
        try:
            return await _replace(cluster, kind, wanted, manager)
        except Conflict:
            continue
    return await _replace(cluster, kind, wanted, manager)


async def _replace(cluster: Cluster, kind: Kind, wanted: Object, manager: str) -> Object:
    key = key_of(wanted)
    live = await cluster.get(kind, key)
    if live is None:
        raise Conflict(f"{kind.kind} {'/'.join(key)}: the object does not exist", kind, key)
    entries: list[dict[str, Any]] = live["metadata"].get("managedFields") or []
    if any(SPEC in entry["fieldsV1"] and not _is_own(entry, manager) for entry in entries):
        live = await cluster.patch(kind, key, _replacement(live, wanted["spec"]))
        owners = {"managedFields": _sole_owner(live["metadata"]["managedFields"], kind, manager)}
        live = await cluster.patch(kind, key, {"metadata": {**_same(live), **owners}})
    return await cluster.apply(kind, {**wanted, "metadata": wanted["metadata"] | _same(live)}, manager)


def _replacement(live: Object, spec: Any) -> list[Object]:
    """The JSON patch that replaces the spec. A merge patch cannot set a value of a chart to null."""
    members = {"/spec": spec, **{f"/metadata/{name}": value for name, value in _same(live).items()}}
    return [{"op": "add", "path": path, "value": value} for path, value in members.items()]


def _sole_owner(entries: list[dict[str, Any]], kind: Kind, manager: str) -> list[dict[str, Any]]:
    """The entries of managedFields with all owned fields of the spec assigned to `manager`."""
    spec = reduce(_united, (entry["fieldsV1"][SPEC] for entry in entries if SPEC in entry["fieldsV1"]))
    own = next((entry for entry in entries if _is_own(entry, manager)), None)
    new = {"manager": manager, "operation": "Apply", "apiVersion": kind.api_version, "fieldsType": "FieldsV1"}
    rest = [{**entry, "fieldsV1": _but_spec(entry["fieldsV1"])} for entry in entries if entry is not own]
    mine = {**(own or new), "fieldsV1": {**(own or {}).get("fieldsV1", {}), SPEC: spec}}
    return [*(entry for entry in rest if entry["fieldsV1"]), mine]


def _is_own(entry: Mapping[str, Any], manager: str) -> bool:
    return (entry["manager"], entry["operation"], entry.get("subresource", "")) == (manager, "Apply", "")


def _but_spec(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: below for name, below in fields.items() if name != SPEC}


def _united(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The union of two FieldsV1 sets. A field is `{}` without owned children, and has the member `.` with children."""
    if bool(one) != bool(other):
        return {".": {}, **(one or other)}
    return {**one, **{name: _united(one[name], below) if name in one else below for name, below in other.items()}}


def _same(live: Object) -> dict[str, Any]:
    """The precondition of a write: uid and resourceVersion of the object as read."""
    return {name: live["metadata"][name] for name in ("uid", "resourceVersion")}
