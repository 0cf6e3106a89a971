"""Converts the record of a server to its status, in the shape of the reference, and back. Pure.

`resources` has ports, trunks, volumes and floating IPs as lists of {name, id}; the server itself is `instanceID`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.controllers.infra.managed_resources import Record
from stackwright.core.openstack.resources import SERVER_KEY, ResourceKey, ResourceType

FIELDS: tuple[tuple[ResourceType, str], ...] = (("port", "ports"), ("trunk", "trunks"), ("volume", "volumes"))


def record_of(status: Mapping[str, Any], slots: Iterable[ResourceKey] = ()) -> Record:
    """The record in a status. Names are optional, and Cluster API Provider OpenStack writes none: entries without a
    name are those of the remaining `slots` of their type, in order; any others are named by their ids.
    """
    resources, slots = status.get("resources") or {}, tuple(slots)
    found: dict[ResourceKey, str] = {}
    for what, field in FIELDS:
        entries = resources.get(field) or ()
        named = {entry.get("name") for entry in entries}
        free = (name for kind, name in slots if kind == what and name not in named)
        for entry in entries:
            found[what, str(entry.get("name") or next(free, entry["id"]))] = str(entry["id"])
    if status.get("instanceID"):
        found[SERVER_KEY] = str(status["instanceID"])
    return found


def written(record: Mapping[ResourceKey, Any]) -> dict[str, Any]:
    """The status fields of a record; a value may still be a PendingId."""
    resources = {
        field: [{"name": name, "id": id_} for (kind, name), id_ in record.items() if kind == what]
        for what, field in FIELDS
        if any(kind == what for kind, _ in record)
    }
    return {"instanceID": record.get(SERVER_KEY, ""), "resources": resources}
