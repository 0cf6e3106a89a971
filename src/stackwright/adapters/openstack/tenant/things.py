"""Raw JSON of OpenStack's lists → Things. The SDK's objects would take most of the time of a long list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from stackwright.api.infra.capi import MARK
from stackwright.core.openstack.clouds import ANSWERED, CREATED, Thing

# Keys in the metadata of volumes.
METADATA = "stackwright.dev/mark"
OWN = "stackwright.dev/volume"  # the volume's id, or in a copy the id of the original
RESTORED = "src_backup_id"  # written by Cinder into a volume that was restored from a backup of another one
_VOLUMES = "os-extended-volumes:volumes_attached"
Raw = Mapping[str, Any]


def mark_in(text: str) -> str:
    """The last mark in a text: ours follows the user's text, which may contain a copied mark."""
    return next(reversed(MARK.findall(text or "")), "")


def server(raw: Raw) -> Thing:
    tags = [tag for tag in raw.get("tags") or () if not MARK.fullmatch(tag)]
    mark = next((tag for tag in raw.get("tags") or () if MARK.fullmatch(tag)), "")
    facts = {
        "task_state": raw.get("OS-EXT-STS:task_state"),
        "fault": (raw.get("fault") or {}).get("message"),
        **({"addresses": raw["addresses"] or {}} if "addresses" in raw else {}),
        "metadata": raw.get("metadata") or {},
        **({"tags": tags} if "tags" in raw else {}),
        **({"flavor": raw["flavor"]["original_name"]} if (raw.get("flavor") or {}).get("original_name") else {}),
        **({"volumes": sorted(each["id"] for each in raw[_VOLUMES])} if _VOLUMES in raw else {}),
    }
    return Thing("server", raw["id"], raw.get("name") or "", raw.get("status") or "", mark, facts)


_PORT = (
    "network_id", "device_id", "admin_state_up", "port_security_enabled", "security_groups", "allowed_address_pairs",
    "fixed_ips", "mac_address", "tags", "trunk_details",
)  # fmt: skip


def port(raw: Raw) -> Thing:
    facts = {"name": raw.get("name") or "", **{name: raw[name] for name in _PORT if name in raw}}
    return Thing("port", raw["id"], facts["name"], raw.get("status") or "", mark_in(raw.get("description", "")), facts)


def volume(raw: Raw) -> Thing:
    metadata = raw.get("metadata") or {}
    mark = "" if _copied(raw, metadata) else mark_in(metadata.get(METADATA, ""))
    facts = {
        "size": raw.get("size"),
        "attachments": raw.get("attachments") or [],
        CREATED: _seconds(raw.get(CREATED)),
        ANSWERED: metadata.get(OWN) == raw["id"],
    }
    return Thing("volume", raw["id"], raw.get("name") or "", raw.get("status") or "", mark, facts)


def _copied(raw: Raw, metadata: Raw) -> bool:
    """Whether the metadata is another volume's: Cinder also restores the metadata in a backup, with our mark."""
    other = metadata.get(OWN, raw["id"]) != raw["id"]
    return other or raw.get("status") == "restoring-backup" or RESTORED in metadata


def _seconds(stamp: str | None) -> float | None:
    """Seconds since 1970 for a time stamp of Cinder, which is in UTC without saying so."""
    try:
        return datetime.fromisoformat(stamp or "").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def plain(what: str, *names: str) -> Callable[[Raw], Thing]:
    """Converter for a resource type of Neutron, with these fields as facts."""

    def thing(raw: Raw) -> Thing:
        facts = {name: raw[name] for name in names if name in raw}
        mark = mark_in(raw.get("description") or "")
        return Thing(what, raw["id"], raw.get("name") or "", raw.get("status") or "", mark, facts)

    return thing
