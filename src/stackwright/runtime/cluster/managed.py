"""The cluster as an operator with limited namespaces uses it (`stackwright operator --namespaces`).

The operator has no rights in other namespaces. So a list of all namespaces reads only the managed ones, and access to
another namespace raises UnmanagedNamespace instead of a request that the API server would refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackwright.api.meta import Kind
from stackwright.core.errors import UnmanagedNamespace
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Cluster, Patch, Reader

SHOWN = 63  # characters of a namespace in an error


class ManagedReader:
    """core.ports.Reader within some namespaces.

    own  the operator's namespace: its objects can be read and written, but lists of all namespaces do not contain it
    """

    def __init__(self, reader: Reader, namespaces: Iterable[str], own: str) -> None:
        self._reader = reader
        self._namespaces = tuple(namespaces)
        self._allowed = {*self._namespaces, own}

    async def get(self, kind: Kind, key: Key) -> Object | None:
        self._check(kind, key[0])
        return await self._reader.get(kind, key)

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        if not kind.namespaced:
            return await self._reader.list(kind, "", labels)
        if namespace:
            self._check(kind, namespace)
            return await self._reader.list(kind, namespace, labels)
        found: list[Object] = []
        for each in self._namespaces:
            found += await self._reader.list(kind, each, labels)
        return found

    def _check(self, kind: Kind, namespace: str) -> None:
        if kind.namespaced and namespace not in self._allowed:
            raise UnmanagedNamespace(
                f"This operator does not manage the namespace {namespace[:SHOWN]!r}, so it may not use a {kind.kind} "
                "there: add the namespace to the value `namespaces` of the operator's chart"
            )


class ManagedCluster(ManagedReader):
    """core.ports.Cluster within some namespaces."""

    def __init__(self, cluster: Cluster, namespaces: Iterable[str], own: str) -> None:
        super().__init__(cluster, namespaces, own)
        self._cluster = cluster

    async def apply(self, kind: Kind, obj: Object, manager: str) -> Object:
        self._check(kind, _namespace(obj))
        return await self._cluster.apply(kind, obj, manager)

    async def create(self, kind: Kind, obj: Object, manager: str) -> Object:
        self._check(kind, _namespace(obj))
        return await self._cluster.create(kind, obj, manager)

    async def apply_status(self, kind: Kind, obj: Object, manager: str) -> Object:
        self._check(kind, _namespace(obj))
        return await self._cluster.apply_status(kind, obj, manager)

    async def patch(self, kind: Kind, key: Key, patch: Patch) -> Object:
        self._check(kind, key[0])
        return await self._cluster.patch(kind, key, patch)

    async def delete(self, kind: Kind, key: Key, uid: str = "") -> None:
        self._check(kind, key[0])
        await self._cluster.delete(kind, key, uid)

    async def event(self, obj: Object, reason: str, message: str, warning: bool) -> None:
        await self._cluster.event(obj, reason, message, warning)


def _namespace(obj: Object) -> str:
    return str(obj["metadata"].get("namespace") or "")
