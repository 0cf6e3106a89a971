"""Maps changed objects to keys in the queue. An event has no other effect, so a burst of events costs one reconcile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stackwright.api.meta import Kind
from stackwright.core.conditions import is_as_before, is_reworded
from stackwright.core.controller import ByOwner, Controller
from stackwright.core.objects import key_of
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.plan import Key, Object
from stackwright.runtime import faults, metrics
from stackwright.runtime.cluster.cache import Store
from stackwright.runtime.queue import KeyedQueue

Item = tuple[str, Key]  # controller's name, key


class Events:
    """Stores changes that watches and lists report, and queues the keys that they concern."""

    def __init__(self, controllers: Iterable[Controller], store: Store, queue: KeyedQueue[Item]) -> None:
        self._controllers = {controller.name: controller for controller in controllers}
        self._store, self._queue = store, queue
        self._paused: set[tuple[Kind, Key]] = set()
        # (Kind, kind of an owner or "") → controller, keys, and whether changes of messages alone queue them.
        self._routes: dict[tuple[Kind, str], list[tuple[str, Any, bool]]] = {}
        for controller in self._controllers.values():
            self._routes.setdefault((controller.kind, ""), []).append((controller.name, None, True))
            for watch in controller.watches:
                owner = watch.keys.kind if isinstance(watch.keys, ByOwner) else ""
                self._routes.setdefault((watch.kind, owner), []).append(
                    (controller.name, watch.keys, watch.on_message_change)
                )
        self.kinds: list[Kind] = list(dict.fromkeys(kind for kind, _ in self._routes))
        for kind in self.kinds:
            store.watch(kind)

    def on_event(self, gone: bool, kind: Kind, obj: Object) -> None:
        """Store a change that a watch reported, and queue all keys that it concerns."""
        try:
            if gone:
                self._store.drop(kind, obj)
                self._paused.discard((kind, key_of(obj)))
                self._enqueue(kind, obj)
            else:
                self.put(kind, obj)
        except Exception as error:
            faults.note("event", error, kind=kind.kind)

    def put(self, kind: Kind, obj: Object) -> None:
        """Store an object and, if it is new, queue all keys that it concerns."""
        before = self._store.reported(kind, key_of(obj))
        if self._store.put(kind, obj):
            self.replaced(kind, before, obj)
            now = self._store.reported(kind, key_of(obj))
            writer = self._store.writer(kind, obj)
            if writer and (before is None or now is None or not is_as_before(before, now)):
                writer = ""  # the version includes an earlier change by another client, without an event of its own
            reworded = before is not None and now is not None and is_reworded(before, now)
            self._enqueue(kind, obj, writer, reworded)

    def replaced(self, kind: Kind, before: Object | None, obj: Object) -> None:
        """Queue the keys of an object that was replaced without a report of its deletion: the owners may differ."""
        if before is not None and before["metadata"].get("uid") != obj["metadata"].get("uid"):
            self._enqueue(kind, before)

    def _enqueue(self, kind: Kind, obj: Object, writer: str = "", reworded: bool = False) -> None:
        """Queue all keys that an object concerns. A change of messages alone does not advance a retry.

        Otherwise two failing objects that watch each other would wake each other without end, because messages may
        differ at each attempt.
        """
        owners = dict.fromkeys(ref.get("kind") for ref in obj["metadata"].get("ownerReferences") or ())
        routes = [each for owner in ("", *owners) for each in self._routes.get((kind, owner), ())]
        for name, keys, on_message_change in routes:
            if reworded and not on_message_change:
                continue
            try:
                for key in (key_of(obj),) if keys is None else keys(obj, self._store.list):
                    self._add((name, key), writer, reworded)
            except Exception as error:  # the keys are unknown, so queue all objects
                faults.note("event", error, controller=name, kind=kind.kind, object="/".join(key_of(obj)))
                for key in self._store.keys(self._controllers[name].kind):
                    self._queue.add((name, key))
        kept = self._store.get(kind, key_of(obj))
        if (kept is not None and STACKWRIGHT.is_set(kept)) != ((kind, key_of(obj)) in self._paused):
            self._pause_changed(kind, obj)
        metrics.QUEUE_DEPTH.set(len(self._queue))

    def _add(self, item: Item, writer: str, reworded: bool) -> None:
        controller = self._controllers[item[0]]
        own = bool(writer) and writer in (controller.manager, controller.fault_manager)
        if own and reworded:
            return  # the controller wrote this message, and the next reconcile may change it again
        if own or reworded:
            self._queue.echo(item)
        else:
            self._queue.add(item)

    def _pause_changed(self, kind: Kind, obj: Object) -> None:
        """Queue all objects of the namespace that it may pause, because a pause affects dependents at any depth."""
        self._paused ^= {(kind, key_of(obj))}
        for controller in self._controllers.values():
            if controller.pause is STACKWRIGHT:
                for each in self._store.list(controller.kind, obj["metadata"].get("namespace", "")):
                    self._queue.add((controller.name, key_of(each)))
