"""The source of events: Kopf's watches, and no other part of Kopf.

Kopf does the tedious parts well: discovery, streaming, bookmarks, re-authentication, dead connections. Its
state-keeping handlers, timers, daemons and indices are not used: they write to every object and cost milliseconds each.
An event becomes an entry in our store and keys in our queue. Its admission server is not used either:
runtime/webhook/admission.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import kopf
from kopf._cogs.structs.credentials import Vault

from stackwright.api.meta import Kind
from stackwright.core.objects import MANAGED
from stackwright.core.plan import Object
from stackwright.runtime.cluster.cache import PARTIAL

OnEvent = Callable[[bool, Kind, Object], None]


class Source(Protocol):
    ready: asyncio.Event  # set when the source has started

    async def run(self, kinds: Iterable[Kind], on_event: OnEvent) -> None:
        """Report changes of these kinds until cancelled: (gone, kind, object)."""


class KopfSource:
    """kubeconfig  None in a pod
    namespaces  namespaces to watch; empty for all
    """

    def __init__(self, kubeconfig: str | None = None, namespaces: Iterable[str] = ()) -> None:
        self._kubeconfig, self.namespaces = kubeconfig, tuple(namespaces)
        self.ready = asyncio.Event()
        logging.getLogger("kopf").setLevel(logging.WARNING)

    async def run(self, kinds: Iterable[Kind], on_event: OnEvent) -> None:
        registry = kopf.OperatorRegistry()
        for kind in kinds:
            _watch(registry, kind, on_event)
        self._login(registry)
        vault = Vault()
        try:
            await kopf.operator(
                registry=registry,
                settings=self._settings(kinds),
                standalone=True,
                clusterwide=not self.namespaces,
                namespaces=self.namespaces,
                ready_flag=self.ready,
                vault=vault,
            )
        finally:
            await vault.close()  # Kopf does not close its sessions on cancellation

    def _login(self, registry: kopf.OperatorRegistry) -> None:
        path = self._kubeconfig

        @kopf.on.login(registry=registry)
        def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
            return kopf.login_with_kubeconfig(**kwargs) if path else kopf.login_with_service_account(**kwargs)

    def _settings(self, kinds: Iterable[Kind]) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        settings.persistence.diffbase_storage = _NoDiffBase()
        settings.persistence.progress_storage = _NoProgress()
        settings.scanning.disabled = True
        settings.watching.chunk_size = 500
        settings.networking.request_timeout = 60
        selector = ",".join(f"{name}={value}" for name, value in MANAGED.items())
        for kind in kinds:
            if kind in PARTIAL:
                settings.watching.label_selectors[f"{kind.group}/{kind.version}/{kind.plural}".lstrip("/")] = selector
        return settings


class _NoDiffBase(kopf.DiffBaseStorage):
    """Disables Kopf's comparison of each object with its last handled version; our cache compares objects instead."""

    def build(self, *, body: Any, extra_fields: Any = None) -> Any:
        return {}

    def fetch(self, *, body: Any) -> Any:
        return None

    def store(self, *, body: Any, patch: Any, essence: Any) -> None:
        return None


class _NoProgress(kopf.ProgressStorage):
    """Disables Kopf's storage of handler progress in objects; our handlers have no progress."""

    def fetch(self, *, key: Any, body: Any) -> Any:
        return None

    def store(self, *, key: Any, record: Any, body: Any, patch: Any) -> None:
        return None

    def purge(self, *, key: Any, body: Any, patch: Any) -> None:
        return None

    def touch(self, *, body: Any, patch: Any, value: Any) -> None:
        return None

    def clear(self, *, essence: Any) -> Any:
        return essence


def _watch(registry: kopf.OperatorRegistry, kind: Kind, on_event: OnEvent) -> None:
    @kopf.on.event(kind.group, kind.version, kind.plural, registry=registry, id=kind.plural)
    async def event(event: Any, **_: Any) -> None:
        on_event(
            event["type"] == "DELETED", kind, {"kind": kind.kind, "apiVersion": kind.api_version, **event["object"]}
        )
