"""A cluster in memory that fulfils all prerequisites: what a simulation on it still waits for is missing in the
manifests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackwright.api.kinds import NODE, SECRET
from stackwright.api.meta import Kind
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.objects import MANAGED, mapping
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.ceph.values import KEYS
from stackwright.services.registry import SERVICES


class Ideal:
    """A Reader: a node with all labels and nothing else, but users' Secrets of the real cluster.

    given   the manifests, which name these Secrets
    hidden  Secret → why it could not be read; it counts as missing
    """

    def __init__(self, cluster: Reader, given: Iterable[Object]) -> None:
        self.hidden: dict[Key, str] = {}
        self._cluster, self._memory = cluster, MemoryCluster()
        self._names = {KEYS, *(text for obj in given for text in _texts(obj))}
        labels = {key: value for service in SERVICES for key, value in service.node_labels}
        ready = {"type": "Ready", "status": "True"}
        addresses = [{"type": "InternalIP", "address": "192.0.2.1"}]
        status = {"conditions": [ready], "addresses": addresses}
        self._memory.put(NODE, {"metadata": {"name": "node", "labels": labels}, "spec": {}, "status": status})

    async def get(self, kind: Kind, key: Key) -> Object | None:
        if kind != SECRET or key[1] not in self._names:
            return await self._memory.get(kind, key)
        try:
            found = await self._cluster.get(kind, key)
        except (TerminalError, TransientError) as error:
            self.hidden[key] = str(error).rstrip(".")
            return None
        ours = found is not None and MANAGED.items() <= mapping(found["metadata"].get("labels")).items()
        return None if ours else found

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        return await self._memory.list(kind, namespace, labels)


def _texts(value: Any) -> Iterator[str]:
    """All texts in an object."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
