"""The contract by which a service gets pools in Ceph."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from stackwright.api.services.contracts import CephClient, CephClientSpec
from stackwright.core.plan import Object
from stackwright.services.ceph.kind import Ceph
from stackwright.services.declaration import Contract

CEPH_CONF = "/etc/ceph/ceph.conf"  # in every pod with a Ceph client
POOLS = {"images": "images", "volumes": "volumes", "backup": "backups", "vms": "vms"}  # role → requested name


def ceph(name: str, roles: Mapping[str, bool], options: Mapping[str, Mapping[str, str]]) -> Contract:
    """A client of Ceph. `roles` maps each role of its pools to whether it only reads them; for `options` see
    CephClientSpec.
    """
    spec = {
        "instance": "ceph",
        "client": name,
        "pools": [{"name": POOLS[role], "role": role, "readOnly": only} for role, only in roles.items()],
        "options": {section: dict(body) for section, body in options.items()},
        "secretName": ceph_secret(name),
    }
    return Contract("Storage", CephClient.KIND, "ceph", Ceph.KIND, spec, name=name)


def ceph_secret(name: str) -> str:
    return f"{name}-ceph"


def claims(obj: Object) -> set[str]:
    """Names that only one CephClient may claim: a client of a Ceph, and its Secret. Empty for an invalid object."""
    try:
        spec = CephClientSpec.model_validate(obj.get("spec") or {})
    except ValidationError:
        return set()
    return {f"client {spec.client} of Ceph {spec.instance}", f"Secret {spec.secret_name}"}
