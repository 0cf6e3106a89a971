"""Checks whether a floating IP that a user named may be attached to a port of ours. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from stackwright.controllers.infra.managed_resources import Record
from stackwright.core.openstack.resources import CloudResource, marked_by

MARKED = "has the mark of another object in its description"
UNMARK = "remove the mark if that object no longer exists"


@dataclass(frozen=True)
class Unusable:
    """Why a floating IP must not be attached elsewhere, and the remedy."""

    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}"


def is_of(thing: CloudResource, uid: str, record: Record) -> bool:
    """Whether the object with this identity and record created the resource."""
    return marked_by(thing, uid) or (thing.type, thing.id) in {(key[0], id_) for key, id_ in record.items()}


def why_unusable(ip: CloudResource, made: bool, ports: Collection[str], whose: str) -> Unusable | None:
    """None if the floating IP may be attached to a port of ours: we created it (`made`), it is attached to one of
    `ports`, or it is a user's and unattached.
    """
    at, named = ip.facts.get("port_id"), f"Floating IP {ip.facts.get('floating_ip_address')}"
    if made or at in ports:
        return None
    if ip.mark:
        return Unusable(f"{named} {MARKED}", UNMARK)
    if at:
        return Unusable(f"{named} is attached to port {at}, which does not belong to this {whose}", "detach it there")
    return None
