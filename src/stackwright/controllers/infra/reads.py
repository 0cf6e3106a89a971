"""Reads of the controllers of `infra`: kinds of other systems, such as Cluster API, and the origin of an object.

If these kinds are not installed, no object is found. Fields of the wrong type are removed. An object without a required
field of its kind is not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stackwright.api.fields.naming import OBJECT
from stackwright.api.kinds import NAMESPACE
from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import CLUSTER, NAME, owner_named, refers_to, shape_of
from stackwright.controllers.infra.origin import ORIGIN, is_moved, origin_here
from stackwright.core.errors import NotServed
from stackwright.core.objects import annotation, key_of, label
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.core.shapes import fitted

SYSTEM = "kube-system"  # by convention its UID identifies the cluster


async def get_if_served(reader: Reader, kind: Kind, key: Key) -> Object | None:
    """The object in the newest served version; None for an invalid name, as labels and owner references may contain."""
    if not OBJECT.matches(key[1]):
        return None
    for version in (kind.version, *kind.also):
        try:
            return _fitted(await reader.get(replace(kind, version=version), key), kind)
        except NotServed:
            continue
    return None


async def list_if_served(
    reader: Reader, kind: Kind, namespace: str, labels: Mapping[str, str] | None = None
) -> list[Object] | None:
    """The objects in the newest served version; None if the kind is not installed."""
    for version in (kind.version, *kind.also):
        try:
            every = await reader.list(replace(kind, version=version), namespace, labels)
        except NotServed:
            continue
        return [each for obj in every if (each := _fitted(obj, kind))]
    return None


def _fitted(obj: Object | None, kind: Kind) -> Object | None:
    found: Object | None = fitted(obj, shape_of(kind))
    return found


async def cluster_of(reader: Reader, obj: Object) -> Object | None:
    """The Cluster of an object, by its label or its owner reference."""
    namespace, _ = key_of(obj)
    name = label(obj, NAME) or owner_named(obj, CLUSTER)
    return await get_if_served(reader, CLUSTER, (namespace, name)) if name else None


async def cluster_referring(reader: Reader, obj: Object) -> Object | None:
    """The Cluster of an OpenStackCluster, even before it has a label or an owner; otherwise the Cluster of the same
    name.
    """
    if label(obj, NAME) or owner_named(obj, CLUSTER):
        return await cluster_of(reader, obj)
    every = await list_if_served(reader, CLUSTER, key_of(obj)[0]) or ()
    named = (each for each in every if each["metadata"]["name"] == obj["metadata"]["name"])
    return next((each for each in every if refers_to(each, obj)), None) or next(named, None)


async def origin_of(reader: Reader, obj: Object) -> str:
    """The origin of an object: its annotation, or its new origin in this cluster.

    Raises TransientCloudError if this cluster has no identity, because its resources could be confused with those of
    another cluster.
    """
    if written := annotation(obj, ORIGIN):
        return written
    return origin_here(await _cluster(reader), obj)


async def moved_uid(reader: Reader, obj: Object) -> str:
    """The UID of an object that comes from another cluster or from a backup; empty for others."""
    is_here = not annotation(obj, ORIGIN) or not is_moved(await _cluster(reader), obj)
    return "" if is_here else str(obj["metadata"]["uid"])


async def _cluster(reader: Reader) -> str:
    found = await reader.get(NAMESPACE, ("", SYSTEM))
    if found is None:
        raise TransientCloudError(
            Reason.NO_CLUSTER_IDENTITY, f"Namespace {SYSTEM} does not exist; its UID identifies the cluster"
        )
    return str(found["metadata"]["uid"])
