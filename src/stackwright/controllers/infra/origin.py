"""Reads the origin of an object: its annotation, or the origin that it gets in this cluster."""

from __future__ import annotations

from stackwright.api.kinds import NAMESPACE
from stackwright.core.objects import annotation
from stackwright.core.openstack.clouds import Trouble
from stackwright.core.openstack.origin import ORIGIN, origin_here
from stackwright.core.plan import Object
from stackwright.core.ports import Reader

SYSTEM = "kube-system"  # by convention its UID identifies the cluster


async def origin_of(reader: Reader, obj: Object) -> str:
    """Raises Trouble if this cluster has no identity: its resources could be confused with those of another cluster."""
    if written := annotation(obj, ORIGIN):
        return written
    found = await reader.get(NAMESPACE, ("", SYSTEM))
    if found is None:
        raise Trouble("NoClusterIdentity", f"Namespace {SYSTEM} does not exist; its UID identifies the cluster")
    return origin_here(found["metadata"]["uid"], obj)
