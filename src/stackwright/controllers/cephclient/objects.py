"""What belongs to one CephClient only. Pure."""

from __future__ import annotations

from stackwright.core.plan import Object


def claims(obj: Object) -> set[str]:
    """The client of a Ceph and the Secret that an object writes."""
    spec = obj.get("spec") or {}
    return {f"client {spec.get('client')} of Ceph {spec.get('instance')}", f"Secret {spec.get('secretName')}"}
