"""Cache of watched objects by kind and key, so that `observe` needs no API calls.

Objects are reduced before they are stored. In particular no value of a Secret is stored: decisions need only the names
of its keys, and the cause of a failed Helm release. Writes are sent to the API server and their responses are stored,
so that a controller reads its own writes.

The higher of two versions of an object is the newer one. A list with a lower version than the one known before the list
began proves that etcd was restored from a snapshot. Then the list is valid.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.kinds import CONFIGMAP, POD, SECRET, WORKLOADS
from stackwright.api.meta import Kind
from stackwright.core.helm.records import cause_only
from stackwright.core.objects import MANAGED, key_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Cluster, Patch, Reader

# Watches of these kinds select our label, so an object that is not in the cache may still exist.
PARTIAL = (SECRET, CONFIGMAP)
_KEPT_OF_PODS = ("nodeName",)
# Deletions to remember, so that the delayed response of a write (by milliseconds) does not restore the object.
REMEMBERED = 10_000
_NEVER = (-1, 0)  # version and number of a deletion that did not happen


def slim(kind: Kind, obj: Object) -> Object:
    """A copy without fields that no decision reads."""
    meta = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
    small = {**obj, "metadata": meta}
    if kind == SECRET:
        small["data"] = {**dict.fromkeys(obj.get("data") or {}, ""), **cause_only(obj)}
    elif kind == POD:
        small["spec"] = {k: v for k, v in (obj.get("spec") or {}).items() if k in _KEPT_OF_PODS}
    elif kind in WORKLOADS and not MANAGED.items() <= (meta.get("labels") or {}).items():  # ours are compared in full
        small["spec"] = {k: v for k, v in (obj.get("spec") or {}).items() if k != "template"}
    return small


def is_watched(kind: Kind, obj: Object) -> bool:
    """Whether the watch of this kind reports an object with these labels."""
    return kind not in PARTIAL or _matches(obj, MANAGED)


def is_current(kind: Kind, known: Object, current: Object | None) -> bool:
    """Whether the API still has the known object under this name (same UID), and its watch reports it."""
    if current is None or current["metadata"].get("uid") != known["metadata"].get("uid"):
        return False
    return is_watched(kind, current)


@dataclass(frozen=True)
class Known:
    """The state of a kind at one time: its objects, those that watches had reported, and the number of deletions of any
    kind.
    """

    kind: Kind
    objects: Mapping[Key, Object]
    reported: Mapping[Key, Object]
    deletions: int


class Store:
    """The cached objects, and the version of each that a watch reported last.

    They differ after our own writes and deletions, whose watch events must still wake other controllers.
    """

    def __init__(self) -> None:
        self._objects: dict[Kind, dict[str, dict[Key, Object]]] = {}
        self._reported: dict[Kind, dict[Key, Object]] = {}
        # (kind, key, uid) → version at which the object was deleted, and number of the deletion.
        self._gone: OrderedDict[tuple[Kind, Key, str], tuple[int, int]] = OrderedDict()
        self._deletions = 0
        self._written: OrderedDict[tuple[Kind, Key, int], str] = (
            OrderedDict()
        )  # our writes of a status, until their watch event

    def watch(self, kind: Kind) -> None:
        self._objects.setdefault(kind, {})

    def holds(self, kind: Kind) -> bool:
        return kind in self._objects

    def get(self, kind: Kind, key: Key) -> Object | None:
        return self._objects.get(kind, {}).get(key[0], {}).get(key)

    def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        spaces = self._objects.get(kind, {})
        chosen = [spaces.get(namespace, {})] if namespace else list(spaces.values())
        found = [obj for space in chosen for obj in space.values()]
        if not labels:
            return found
        return [obj for obj in found if _matches(obj, labels)]

    def keys(self, kind: Kind) -> set[Key]:
        return {key for space in self._objects.get(kind, {}).values() for key in space}

    def known_keys(self, kind: Kind) -> set[Key]:
        """Keys of the stored objects, and of those whose deletion no watch has reported yet."""
        return self.keys(kind) | set(self._reported.get(kind, ()))

    def put(self, kind: Kind, obj: Object) -> bool:
        """Store an object that a watch reported; False if the watch reported this or a newer version before."""
        if kind not in self._objects:
            return True
        key, version = key_of(obj), _version(obj)
        before = self.reported(kind, key)
        if before is not None and version <= _version(before):
            return False
        self.keep(kind, obj)
        kept = self.get(kind, key)
        reported = kept if kept is not None and _version(kept) == version else slim(kind, obj)
        self._reported.setdefault(kind, {})[key] = reported
        return True

    def reported(self, kind: Kind, key: Key) -> Object | None:
        """The object as a watch reported it last; the stored object may be the result of our own, newer write."""
        return self._reported.get(kind, {}).get(key)

    def keep(self, kind: Kind, obj: Object) -> None:
        """Store an object, unless the stored version is the same or newer."""
        if kind in self._objects:
            key = key_of(obj)
            if _version(obj) <= self._gone.get((kind, key, _uid(obj)), _NEVER)[0]:
                return  # the response to a write that arrived after the event of the deletion
            space = self._objects[kind].setdefault(key[0], {})
            if key not in space or _version(obj) > _version(space[key]):
                space[key] = slim(kind, obj)

    def known(self, kind: Kind) -> Known:
        """The state of a kind at the start of a list; see overrule."""
        spaces = self._objects.get(kind, {}).values()
        objects = {key: obj for space in spaces for key, obj in space.items()}
        return Known(kind, objects, dict(self._reported.get(kind, {})), self._deletions)

    def overrule(self, known: Known, obj: Object) -> Object | None:
        """Replaces a stored object by an older one of a list, and forgets a deletion that the list disproves.

        The list is valid if the newer version, or the deletion, was known before the list began; later changes are
        newer than the list. The object is still treated as a change when it is put. Returns the replaced object, if
        any.
        """
        kind, key = known.kind, key_of(obj)
        gone = (kind, key, _uid(obj))
        version, number = self._gone.get(gone, _NEVER)
        returned = _version(obj) <= version and number <= known.deletions
        if returned:
            del self._gone[gone]
        reported, before = known.reported.get(key), known.objects.get(key)
        if reported is not None and self.reported(kind, key) is reported and (returned or _is_older(obj, reported)):
            del self._reported[kind][key]
        if before is not None and self.get(kind, key) is before and _is_older(obj, before):
            self._objects[kind][key[0]][key] = slim(kind, obj)
            self._reported.get(kind, {}).pop(key, None)
            return before
        return None

    def wrote_status(self, kind: Kind, obj: Object, manager: str) -> None:
        """Remember that this version results from our own write, until a watch reports it."""
        known = self.get(kind, key_of(obj))
        if self.holds(kind) and (known is None or _version(known) < _version(obj)):
            self._written[kind, key_of(obj), _version(obj)] = manager
            while len(self._written) > REMEMBERED:
                self._written.popitem(last=False)

    def writer(self, kind: Kind, obj: Object) -> str:
        """Field manager of our status write that made this version, or empty; called once, when a watch reports it."""
        return self._written.pop((kind, key_of(obj), _version(obj)), "") if self._written else ""

    def drop(self, kind: Kind, obj: Object) -> None:
        """Forget an object whose deletion was reported, unless another one has taken its name meanwhile."""
        self.removed(kind, obj)
        reported = self.reported(kind, key_of(obj))
        if reported is not None and _uid(reported) == _uid(obj):
            del self._reported[kind][key_of(obj)]

    def removed(self, kind: Kind, obj: Object) -> None:
        """Remove an object that our own write deleted or unlabelled. A later report of this is still treated as a
        change.
        """
        key, uid = key_of(obj), _uid(obj)
        space = self._objects.get(kind, {}).get(key[0], {})
        if key in space and _uid(space[key]) == uid:
            self._reported.setdefault(kind, {}).setdefault(key, space.pop(key))
        self._deletions += 1
        before, _ = self._gone.pop((kind, key, uid), _NEVER)
        self._gone[kind, key, uid] = (max(_version(obj), before), self._deletions)
        while len(self._gone) > REMEMBERED:
            self._gone.popitem(last=False)


def _version(obj: Object) -> int:
    # Resource versions of one kind are comparable since Kubernetes 1.35; in etcd they have always increased.
    return int(obj["metadata"].get("resourceVersion") or 0)


def _uid(obj: Object) -> str:
    return str(obj["metadata"].get("uid") or "")


def _is_older(obj: Object, known: Object) -> bool:
    """Whether an object is older than the known one of its name. Equal versions of two objects prove it, too."""
    version, other = _version(obj), _version(known)
    return version < other or (version == other and _uid(obj) != _uid(known))


def _matches(obj: Object, labels: Mapping[str, str]) -> bool:
    found = obj["metadata"].get("labels") or {}
    return all(found.get(name) == value for name, value in labels.items())


class CachedReader:
    """Reader for `observe`: watched kinds from the store, all others from the API."""

    def __init__(self, store: Store, direct: Reader) -> None:
        self._store, self._direct = store, direct

    async def get(self, kind: Kind, key: Key) -> Object | None:
        found = self._store.get(kind, key)
        if found is None and (not self._store.holds(kind) or kind in PARTIAL):
            return await self._direct.get(kind, key)
        return found

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        if not self._store.holds(kind):
            return await self._direct.list(kind, namespace, labels)
        return self._store.list(kind, namespace, labels)


class WriteThrough:
    """Cluster for the executor: reads bypass the store, and the response of each write is stored."""

    def __init__(self, store: Store, cluster: Cluster) -> None:
        self._store, self._cluster = store, cluster

    async def get(self, kind: Kind, key: Key) -> Object | None:
        return await self._cluster.get(kind, key)

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        return await self._cluster.list(kind, namespace, labels)

    async def apply(self, kind: Kind, obj: Object, manager: str) -> Object:
        return self._keep(kind, await self._cluster.apply(kind, obj, manager))

    async def create(self, kind: Kind, obj: Object, manager: str) -> Object:
        return self._keep(kind, await self._cluster.create(kind, obj, manager))

    async def apply_status(self, kind: Kind, obj: Object, manager: str) -> Object:
        answer = await self._cluster.apply_status(kind, obj, manager)
        self._store.wrote_status(kind, answer, manager)
        return self._keep(kind, answer)

    async def patch(self, kind: Kind, key: Key, patch: Patch) -> Object:
        return self._keep(kind, await self._cluster.patch(kind, key, patch))

    async def delete(self, kind: Kind, key: Key, uid: str = "") -> None:
        await self._cluster.delete(kind, key, uid)

    async def event(self, obj: Object, reason: str, message: str, warning: bool) -> None:
        await self._cluster.event(obj, reason, message, warning)

    def _keep(self, kind: Kind, answer: Any) -> Object:
        # An object that is being deleted and has no finalizers is deleted with this response.
        meta = answer["metadata"]
        gone = meta.get("deletionTimestamp") and not meta.get("finalizers")
        if gone or not is_watched(kind, answer):
            self._store.removed(kind, answer)
        else:
            self._store.keep(kind, answer)
        return dict(answer)
