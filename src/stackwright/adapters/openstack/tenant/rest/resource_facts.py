"""Converts JSON of OpenStack's lists to the facts and the mark of a CloudResource.

The SDK's objects are not used: their creation takes most of the time of a long list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from stackwright.api.fields.mark import MARK, METADATA_KEY
from stackwright.core.openstack.resources import ANSWERED, CREATED

# Further keys in the metadata of volumes.
OWN = "stackwright.dev/volume"  # the volume's id, or in a copy the id of the original
RESTORED = "src_backup_id"  # written by Cinder into a volume that was restored from a backup of another one
_VOLUMES = "os-extended-volumes:volumes_attached"
Raw = Mapping[str, Any]
Facts = Callable[[Raw], dict[str, Any]]


def mark_in(text: str) -> str:
    """The last mark in a text: ours follows the user's text, which may contain a copied mark."""
    return next(reversed(MARK.findall(text or "")), "")


def _of_description(raw: Raw) -> str:
    return mark_in(raw.get("description") or "")


def _of_metadata(raw: Raw) -> str:
    metadata = raw.get("metadata") or {}
    return "" if _is_copy(raw, metadata) else mark_in(metadata.get(METADATA_KEY, ""))


def _of_tags(raw: Raw) -> str:
    return next((tag for tag in raw.get("tags") or () if MARK.fullmatch(tag)), "")


MARKS: Mapping[str, Callable[[Raw], str]] = {
    "description": _of_description, "metadata": _of_metadata, "tags": _of_tags,
}  # fmt: skip


def created(raw: Raw) -> dict[str, Any]:
    """The creation time, if the response has it; Nova's field has another name."""
    when = seconds(raw.get(CREATED) or raw.get("created"))
    return {} if when is None else {CREATED: when}


def fields(*names: str) -> Facts:
    """These fields, if the response has them."""
    return lambda raw: {name: raw[name] for name in names if name in raw}


def nothing(raw: Raw) -> dict[str, Any]:
    return {}


def server(raw: Raw) -> dict[str, Any]:
    tags = [tag for tag in raw.get("tags") or () if not MARK.fullmatch(tag)]
    return {
        "task_state": raw.get("OS-EXT-STS:task_state"),
        "fault": (raw.get("fault") or {}).get("message"),
        **({"addresses": raw["addresses"] or {}} if "addresses" in raw else {}),
        "metadata": raw.get("metadata") or {},
        **({"tags": tags} if "tags" in raw else {}),
        **({"flavor": raw["flavor"]["original_name"]} if (raw.get("flavor") or {}).get("original_name") else {}),
        **({"volumes": sorted(each["id"] for each in raw[_VOLUMES])} if _VOLUMES in raw else {}),
    }


_PORT = fields(
    "network_id", "device_id", "admin_state_up", "port_security_enabled", "security_groups", "allowed_address_pairs",
    "fixed_ips", "mac_address", "tags", "trunk_details",
)  # fmt: skip


def port(raw: Raw) -> dict[str, Any]:
    return {"name": raw.get("name") or "", **_PORT(raw)}


def volume(raw: Raw) -> dict[str, Any]:
    return {
        "size": raw.get("size"),
        "attachments": raw.get("attachments") or [],
        CREATED: seconds(raw.get(CREATED)),
        ANSWERED: (raw.get("metadata") or {}).get(OWN) == raw["id"],
    }


def _is_copy(raw: Raw, metadata: Raw) -> bool:
    """Whether the metadata is that of another volume: Cinder also restores metadata from a backup, with our mark."""
    other = metadata.get(OWN, raw["id"]) != raw["id"]
    return other or raw.get("status") == "restoring-backup" or RESTORED in metadata


def seconds(stamp: str | None) -> float | None:
    """Seconds since 1970 for a timestamp, which is in UTC; Cinder's has no time zone."""
    try:
        return datetime.fromisoformat(stamp or "").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
