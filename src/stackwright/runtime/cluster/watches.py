"""Detects relists, failures and silence of Kopf's watches, which Kopf does not report to handlers.

This module wraps the function with which Kopf lists and then watches a kind. After each list, including one after a
410, the wrapper reports the existing objects, so that a deletion without an active watch is detected at once. The list
is compared with the state of the cache before its start, because after a restoration of etcd the list is valid. An
error of a watch, which would end Kopf, restarts the watch. Each event proves that a watch works: the API server sends a
bookmark once a minute if nothing changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any

import structlog
from kopf._cogs.clients import errors, watching

from stackwright.api.meta import Kind
from stackwright.core.objects import key_of
from stackwright.core.plan import Key, Object

SILENT = 600.0  # seconds without events after which a watch is treated as dead
PAUSE = 5.0  # seconds from the failure of a watch to its restart
OnListed = Callable[[Kind, set[Key], str], Awaitable[None]]
Watched = tuple[Kind, str]  # with a namespace, empty for all
Listing = Callable[[Kind], Callable[[Object], None]]
log = structlog.get_logger()


class Watches:
    """The watches of some kinds.

    on_listed   called after each list with the existing objects, and its namespace, empty for all
    listing     called before each list; its result is called with each listed object
    namespaces  each namespaced kind has one watch per namespace; if empty, one for all namespaces
    """

    def __init__(
        self, kinds: Iterable[Kind], on_listed: OnListed, listing: Listing, namespaces: Iterable[str] = ()
    ) -> None:
        now = asyncio.get_running_loop().time()
        self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in kinds}
        spaces = tuple(namespaces) or ("",)
        watched = [(kind, space) for kind in self._kinds.values() for space in (spaces if kind.namespaced else ("",))]
        self._signs = dict.fromkeys(watched, now)
        self._causes: dict[Watched, str] = {}
        self._on_listed, self._listing = on_listed, listing

    def listen(self) -> None:
        """Observe the watches of all tasks that the current context starts from now on."""
        _LISTENING.set(self)

    def silent(self) -> dict[Watched, str]:
        """Watches that have been silent for more than SILENT seconds, with a text that gives the known cause."""
        now = asyncio.get_running_loop().time()
        return {
            watched: f"the watch of {_name(*watched)} has received no event for {now - sign:.0f} s"
            f"{self._causes.get(watched, '')}"
            for watched, sign in self._signs.items()
            if now - sign > SILENT
        }

    async def follow(self, resource: Any, namespace: str, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the events of one list and its watch; the end of the stream makes Kopf list again."""
        kind = self._kinds.get((resource.group, resource.version, resource.plural))
        present: set[Key] = set()
        see = self._listing(kind) if kind is not None else None
        try:
            async for event in stream:
                if kind is not None:
                    self._sign((kind, namespace))
                    if event is watching.Bookmark.LISTED:
                        await self._on_listed(kind, present, namespace)
                        present, see = set(), None
                    elif event["type"] is None:
                        present.add(key_of(event["object"]))
                        if see is not None:
                            see(event["object"])
                yield event
        except Exception as error:
            known = isinstance(error, errors.APIError | watching.WatchingError)
            cause = str(error)[:300] if known else type(error).__name__
            if kind is not None:
                self._causes[kind, namespace] = f"; it failed: {cause}"
            log.warning("watch failed", kind=resource.plural, namespace=namespace, cause=cause, again_in=PAUSE)
            await asyncio.sleep(PAUSE)

    def _sign(self, watched: Watched) -> None:
        self._signs[watched] = asyncio.get_running_loop().time()
        self._causes.pop(watched, None)


def _name(kind: Kind, namespace: str) -> str:
    return f"{kind.plural} in {namespace}" if namespace else kind.plural


_LISTENING: ContextVar[Watches | None] = ContextVar("watches", default=None)
_of_kopf = watching.continuous_watch


async def _wrapped(*, resource: Any, namespace: Any, **more: Any) -> AsyncIterator[Any]:
    stream = _of_kopf(resource=resource, namespace=namespace, **more)
    watches = _LISTENING.get()
    async for event in watches.follow(resource, namespace or "", stream) if watches else stream:
        yield event


watching.continuous_watch = _wrapped
