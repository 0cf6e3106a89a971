"""The Kubernetes API in memory: reads, server-side apply, patches, deletion and garbage collection.

It records every write, so that a test can assert that an idle cloud causes no writes, and reports every change to
subscribers, as watches do. With a `base`, objects not written here are read from it: `stackwright plan` uses this to
simulate changes of a real cluster without writing to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from stackwright.api.kinds import EVENT, NAMESPACE
from stackwright.api.meta import Kind
from stackwright.core.errors import Conflict, NotServed
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Clock, Patch, Reader
from stackwright.core.prune import without_empties
from stackwright.runtime.memory import apply as ssa
from stackwright.runtime.memory.json import copy, patched
from stackwright.runtime.memory.shape import default_status, shape_of
from stackwright.runtime.memory.written import (
    completed,
    content,
    expect,
    has_status,
    key_of,
    refuse_new_finalizers,
    refuse_unknown,
    server_fields,
    spec_of,
)

Ref = tuple[Kind, Key]
Objects = list[Object]  # in the class, `list` is a method of the port
Listener = Callable[[str, Kind, Object], None]
PATCHER, SYSTEM = "stackwright", "kube-system"


class Write(NamedTuple):
    verb: str  # apply, apply_status, patch, delete or event
    kind: Kind
    key: Key


class MemoryCluster:
    """core.ports.Cluster without a server.

    `put`, `peek` and `all` are for tests that act as other clients, `unserved` holds kinds whose CRD is not installed.
    Stored objects are replaced and never modified, so listeners and copies of a cluster may share them. Inputs and
    results are copied.
    """

    def __init__(self, base: Reader | None = None, clock: Clock | None = None) -> None:
        self.writes: list[Write] = []
        self.events: list[tuple[Key, str, str, bool]] = []
        self.reads: Counter[str] = Counter()
        self.unserved: set[Kind] = set()
        self._base = base
        self._clock = clock
        self._objects: dict[Ref, Object] = {}
        self._hidden: set[Ref] = set()
        self._without_status: set[Ref] = set()  # in etcd: a creation drops the status, and reads add its default
        self._listeners: list[Listener] = []
        self._version = 0
        self._uids = 0
        if base is None:  # every cluster has this namespace
            meta = {"name": SYSTEM, "uid": SYSTEM, "resourceVersion": "0"}
            body = {"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.kind, "metadata": meta}
            self._objects[NAMESPACE, ("", SYSTEM)] = body

    # Reads.

    async def get(self, kind: Kind, key: Key) -> Object | None:
        self.reads[f"get {kind.kind}"] += 1
        self._serves(kind)
        found = self.peek(kind, key)
        if found is None and self._base is not None and (kind, _key(kind, key)) not in self._hidden:
            return await self._base.get(kind, key)
        return found

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        self.reads[f"list {kind.kind}"] += 1
        self._serves(kind)
        found = self.all(kind, namespace, labels)
        if self._base is None:
            return found
        ours = self._hidden | self._objects.keys()
        below = await self._base.list(kind, namespace, labels)
        return [*(obj for obj in below if (kind, key_of(kind, obj)) not in ours), *found]

    def peek(self, kind: Kind, key: Key) -> Object | None:
        """Like get, but synchronous, not counted, and without the base."""
        found = self._objects.get((kind, _key(kind, key)))
        return None if found is None else _given(found)

    def all(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> Objects:
        """Like list, but synchronous, not counted, and without the base."""
        wanted = (labels or {}).items()
        found = [
            (key, obj)
            for (of, key), obj in self._objects.items()
            if of == kind
            and (not namespace or not kind.namespaced or key[0] == namespace)
            and wanted <= (obj["metadata"].get("labels") or {}).items()
        ]
        return [_given(obj) for _, obj in sorted(found, key=lambda entry: entry[0])]

    def subscribe(self, listener: Listener) -> None:
        """Call a listener for each change, as a watch does: ADDED, MODIFIED or DELETED, the kind and the object."""
        self._listeners.append(listener)

    # Writes.

    async def apply(self, kind: Kind, obj: Object, manager: str) -> Object:
        key = key_of(kind, obj)
        self.writes.append(Write("apply", kind, key))
        self._serves(kind)
        live = await self._live(kind, key)
        expect(kind, key, obj["metadata"], live)
        wanted = {k: v for k, v in copy(obj).items() if k != "status" or not has_status(kind)}
        refuse_unknown(kind, wanted)
        start = live or {"metadata": {}}
        envelope = {"apiVersion": kind.api_version, "kind": kind.kind}
        merged, owners = ssa.apply(shape_of(kind), start, {**envelope, **wanted}, ssa.Owner(manager, "Apply"))
        return self._store(kind, live, completed(kind, merged), owners)

    async def create(self, kind: Kind, obj: Object, manager: str) -> Object:
        key = key_of(kind, obj)
        self.writes.append(Write("create", kind, key))
        self._serves(kind)
        if await self._live(kind, key) is not None:
            raise Conflict(f"create {kind.kind} {'/'.join(key)}: it already exists", kind, key)
        wanted = {k: v for k, v in copy(obj).items() if k != "status" or not has_status(kind)}
        refuse_unknown(kind, wanted)
        new = completed(kind, {"apiVersion": kind.api_version, "kind": kind.kind, **wanted})
        return self._store(
            kind, None, new, ssa.update(shape_of(kind), {"metadata": {}}, new, ssa.Owner(manager, "Update"))
        )

    async def dry_run(self, kind: Kind, obj: Object, manager: str) -> None:
        """Raise the error that `apply` would raise, without a change."""
        await MemoryCluster(self, self._clock).apply(kind, obj, manager)

    async def apply_status(self, kind: Kind, obj: Object, manager: str) -> Object:
        key = key_of(kind, obj)
        self.writes.append(Write("apply_status", kind, key))
        live = await self._existing("apply status of", kind, key)
        status = without_empties(copy(obj.get("status") or {}))
        wanted: Object = {"status": status} if status else {}
        refuse_unknown(kind, wanted)
        merged, owners = ssa.apply(shape_of(kind), live, wanted, ssa.Owner(manager, "Apply", "status"))
        return self._store(kind, live, completed(kind, merged, live), owners)

    async def patch(self, kind: Kind, key: Key, patch: Patch) -> Object:
        key = _key(kind, key)
        self.writes.append(Write("patch", kind, key))
        live = await self._existing("patch", kind, key)
        new = patched(live, copy(patch))
        expect(kind, key, new["metadata"], live)
        owned = {"managedFields": new["metadata"].get("managedFields")}  # a patch may set managedFields
        before = {**live, "metadata": live["metadata"] | owned}
        if has_status(kind):
            new = {
                **{k: v for k, v in new.items() if k != "status"},
                **({"status": live["status"]} if "status" in live else {}),
            }
        refuse_unknown(kind, new)
        new = completed(kind, new, live)
        return self._store(kind, live, new, ssa.update(shape_of(kind), before, new, ssa.Owner(PATCHER, "Update")))

    async def delete(self, kind: Kind, key: Key, uid: str = "") -> None:
        key = _key(kind, key)
        self.writes.append(Write("delete", kind, key))
        live = await self._live(kind, key)
        if live is not None:
            expect(kind, key, {"uid": uid}, live)
            self._delete(kind, key, live)

    async def event(self, obj: Object, reason: str, message: str, warning: bool) -> None:
        meta = obj["metadata"]
        self.writes.append(Write("event", EVENT, (meta.get("namespace", ""), meta["name"])))
        self.events.append(((meta.get("namespace", ""), meta["name"]), reason, message, warning))

    def put(self, kind: Kind, obj: Object) -> Object:
        """Write a whole object with its status, as users, kubelets and other controllers do; not recorded."""
        key = key_of(kind, obj)
        live = self._objects.get((kind, key))
        new = {"apiVersion": kind.api_version, "kind": kind.kind, **copy(obj)}
        new["metadata"] = {**server_fields(live), **new["metadata"]}
        new = completed(kind, new)
        owners = ssa.update(shape_of(kind), live or {"metadata": {}}, new, ssa.Owner("test", "Update"))
        return self._store(kind, live, new, owners)

    def remove(self, kind: Kind, key: Key) -> None:
        """Delete an object as another client does; not recorded."""
        live = self._objects.get((kind, _key(kind, key)))
        if live is not None:
            self._delete(kind, _key(kind, key), live)

    # Storage.

    def _serves(self, kind: Kind) -> None:
        if kind in self.unserved:
            raise NotServed(f"the API does not serve {kind.plural} of {kind.api_version}", kind.group)

    async def _live(self, kind: Kind, key: Key) -> Object | None:
        if (kind, key) not in self._objects and self._base is not None and (kind, key) not in self._hidden:
            below = await self._base.get(kind, key)
            if below is not None:
                self._objects[kind, key] = below
        return self._objects.get((kind, key))

    async def _existing(self, verb: str, kind: Kind, key: Key) -> Object:
        live = await self._live(kind, key)
        if live is None:
            raise Conflict(f"{verb} {kind.kind} {'/'.join(key)}: the object does not exist", kind, key)
        return live

    def _store(self, kind: Kind, live: Object | None, new: Object, owners: ssa.Owners) -> Object:
        """Store the new object; an equal one does not even change the resourceVersion."""
        key = key_of(kind, new)
        before = live or {}
        new["metadata"] = {**new["metadata"], **server_fields(live)}
        refuse_new_finalizers(before, new)
        same = live is not None and content(live) == content(new) and ssa.owners_of(live) == owners
        if same and (kind, key) not in self._without_status:
            return _given(before)
        self._without_status.discard((kind, key))
        meta = new["metadata"]
        if live is None:
            self._uids += 1
            self._without_status |= {(kind, key)} if new.get("status", ()) == default_status(kind) else set()
            meta |= {"uid": f"00000000-0000-4000-8000-{self._uids:012d}", "creationTimestamp": self._now()}
            if has_status(kind):
                meta["generation"] = 1
        elif has_status(kind) and spec_of(before) != spec_of(new):
            meta["generation"] = before["metadata"].get("generation", 0) + 1
        meta["managedFields"] = ssa.managed_fields(owners, kind.api_version, self._now())
        self._put(kind, key, new, "ADDED" if live is None else "MODIFIED")
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            self._gone(kind, key)
        return _given(new)

    def _put(self, kind: Kind, key: Key, new: Object, event: str) -> None:
        self._version += 1
        new["metadata"]["resourceVersion"] = str(self._version)
        self._objects[kind, key] = new
        self._tell(event, kind, new)

    def _delete(self, kind: Kind, key: Key, live: Object) -> None:
        if not live["metadata"].get("finalizers"):
            self._gone(kind, key)
        elif not live["metadata"].get("deletionTimestamp"):
            new = copy(live)
            new["metadata"] |= {"deletionTimestamp": self._now(), "deletionGracePeriodSeconds": 0}
            if has_status(kind):
                new["metadata"]["generation"] = new["metadata"].get("generation", 0) + 1
            self._put(kind, key, new, "MODIFIED")

    def _gone(self, kind: Kind, key: Key) -> None:
        """Remove the object, and then dependents without other owners."""
        last = self._objects.pop((kind, key))
        self._without_status.discard((kind, key))
        self._hidden.add((kind, key))
        self._version += 1
        gone = {**last, "metadata": {**last["metadata"], "resourceVersion": str(self._version)}}
        self._tell("DELETED", kind, gone)
        uid = gone["metadata"].get("uid")
        for (of, other), obj in list(self._objects.items()):
            owned = {ref["uid"] for ref in obj["metadata"].get("ownerReferences") or ()}
            orphaned = uid in owned and not owned & self._uids_here()
            if (of, other) in self._objects and (orphaned or (kind == NAMESPACE and other[0] == key[1])):
                self._delete(of, other, obj)

    def _uids_here(self) -> set[str]:
        return {obj["metadata"].get("uid", "") for obj in self._objects.values()}

    def _tell(self, event: str, kind: Kind, obj: Object) -> None:
        for listener in self._listeners:
            listener(event, kind, obj)

    def _now(self) -> str:
        seconds = self._clock.now() if self._clock else float(self._version)
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _key(kind: Kind, key: Key) -> Key:
    return key if kind.namespaced else ("", key[1])


def _given(obj: Object) -> Object:
    """A copy for a reader. It shares managedFields, about half of an object, which readers must not modify."""
    kept = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    given = copy({**obj, "metadata": kept})
    if owners := obj["metadata"].get("managedFields"):
        given["metadata"]["managedFields"] = owners
    return given
