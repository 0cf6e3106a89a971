"""Converts the record of a server to its status, in the shape of the reference, and back. Pure.

`resources` has ports, trunks, volumes and floating IPs as lists of {name, id}; the server itself is `instanceID`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.controllers.infra.managed_resources import Record
from stackwright.core.openstack.resources import SERVER_KEY, ResourceKey, ResourceType

FIELDS: tuple[tuple[ResourceType, str], ...] = (("port", "ports"), ("trunk", "trunks"), ("volume", "volumes"))


def record_of(status: Mapping[str, Any]) -> Record:
    resources = status.get("resources") or {}
    found: dict[ResourceKey, str] = {}
    for what, field in FIELDS:
        for position, entry in enumerate(resources.get(field) or ()):
            found[what, str(entry.get("name") or position)] = str(entry["id"])
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
