"""The origin of an object: written down on it, or that which it gets in this cluster. Reads only."""

from __future__ import annotations

from stackwright.api.kinds import NAMESPACE
from stackwright.core.objects import annotation
from stackwright.core.openstack.clouds import Trouble
from stackwright.core.openstack.origin import ORIGIN, origin_here
from stackwright.core.plan import Object
from stackwright.core.ports import Reader

SYSTEM = "kube-system"  # its UID is taken for that of the cluster, as it is usual


async def origin_of(reader: Reader, obj: Object) -> str:
    """Raises Trouble if this cluster has no identity: its things could be taken for those of another one."""
    if written := annotation(obj, ORIGIN):
        return written
    found = await reader.get(NAMESPACE, ("", SYSTEM))
    if found is None:
        raise Trouble("NoClusterIdentity", f"Namespace {SYSTEM} does not exist; its UID identifies the cluster")
    return origin_here(found["metadata"]["uid"], obj)
