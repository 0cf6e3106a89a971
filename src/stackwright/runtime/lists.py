"""Compares lists of whole kinds with the cache: at the start, when a watch restarts, and periodically.

An object that a list lacks is read before it is dropped, because it may have been created after the list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog

from stackwright.api.meta import Kind
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.objects import MANAGED, key_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Cluster
from stackwright.runtime import faults
from stackwright.runtime.cluster.cache import PARTIAL, Known, Store, is_current, is_watched
from stackwright.runtime.events import Events
from stackwright.runtime.queue import KeyedQueue

log = structlog.get_logger()


class Lists:
    """ends  whether an exception ends a task"""

    def __init__(self, cluster: Cluster, store: Store, events: Events, ends: Callable[[BaseException], bool]) -> None:
        self._cluster, self._store, self._events, self._ends = cluster, store, events, ends
        self._absent: KeyedQueue[tuple[Kind, Key]] = KeyedQueue()  # absent from a list, not confirmed

    async def load(self, kinds: Iterable[Kind] | None = None) -> None:
        """List every watched kind into the store and queue new objects; also finds changes that a watch missed."""
        for kind in kinds or self._events.kinds:
            known = self._store.known(kind)
            found = await self._cluster.list(kind, "", MANAGED if kind in PARTIAL else None)
            absent = self._store.known_keys(kind) - {key_of(obj) for obj in found}
            for obj in found:
                self._overrule(known, obj)
                self._events.put(kind, obj)
            self._doubt(kind, absent)

    def listing(self, kind: Kind) -> Callable[[Object], None]:
        """Called before a watch lists a kind again; the result is called with each listed object, before its event."""
        known = self._store.known(kind)
        return lambda obj: self._overrule(known, obj)

    def _overrule(self, known: Known, obj: Object) -> None:
        self._events.replaced(known.kind, self._store.overrule(known, obj), obj)

    async def on_listed(self, kind: Kind, present: set[Key], namespace: str = "") -> None:
        """Compare the store with a new list of a watch, because deletions before the list have no event.

        namespace  namespace of the list; empty for all
        """
        known = self._store.known_keys(kind)
        self._doubt(kind, {key for key in known - present if namespace in ("", key[0])})

    def _doubt(self, kind: Kind, absent: Iterable[Key]) -> None:
        for key in absent:
            self._absent.add((kind, key))

    async def verify_absent(self) -> None:
        """Drop objects that are absent from a list, after a read of each: it may have been created after the list."""
        while True:
            kind, key = item = await self._absent.get()
            try:
                known = self._store.get(kind, key) or self._store.reported(kind, key)
                if known is not None and not is_current(kind, known, await self._cluster.get(kind, key)):
                    self._events.on_event(True, kind, known)
                self._absent.forget(item)
            except BaseException as error:
                if self._ends(error):
                    raise
                delay = self._absent.retry(item, getattr(error, "after", None))
                if isinstance(error, TransientError | TerminalError):
                    about = {"kind": kind.kind, "object": "/".join(key), "again_in": round(delay, 1)}
                    log.info("the deletion could not be verified", cause=str(error), **about)
                else:
                    faults.note("resync", error, kind=kind.kind)
            finally:
                self._absent.done(item)

    async def reread(self, kind: Kind, key: Key) -> None:
        """Read an object again after a conflict: the cache is outdated, and a missed deletion would stay in it."""
        known = self._store.get(kind, key)
        if known is None and kind in PARTIAL:
            return  # no watch would update it
        try:
            current = await self._cluster.get(kind, key)
        except (TransientError, TerminalError):
            return  # the item is retried anyway
        if known is not None and not is_current(kind, known, current):
            self._events.on_event(True, kind, known)
        if current is not None and is_watched(kind, current):
            self._store.keep(kind, current)

    async def resync(self, every: float) -> None:
        """List all kinds periodically, in case a watch missed a change."""
        while True:
            await asyncio.sleep(every)
            for kind in self._events.kinds:
                try:
                    await self.load([kind])
                except (
                    TransientError,
                    TerminalError,
                    Conflict,
                ) as error:  # the next resync retries it; continue with other kinds
                    log.warning("resync failed", kind=kind.kind, cause=str(error))
                except Exception as error:
                    faults.note("resync", error, kind=kind.kind)
