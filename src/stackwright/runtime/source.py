"""The source of events: Kopf's watches and admission server, and no other part of Kopf.

Kopf implements discovery, streaming, bookmarks, re-authentication, dead connections, and the admission server. We do
not use its state-keeping handlers, timers, daemons and indices: they write to every object and cost milliseconds each.
An event becomes an entry in our store and keys in our queue.
"""

from __future__ import annotations

import asyncio
import logging
import math
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import kopf
from kopf._cogs.structs.credentials import Vault

from stackwright.api.meta import Kind
from stackwright.api.registry import ADMITTED
from stackwright.core.objects import MANAGED
from stackwright.core.plan import Object
from stackwright.runtime import faults
from stackwright.runtime.cache import PARTIAL

OnEvent = Callable[[bool, Kind, Object], None]


class Check(Protocol):
    def __call__(self, obj: Object, old: Object | None, dry_run: bool) -> list[str]:
        """Errors in an object, and in the update from `old` to it."""


class Source(Protocol):
    async def run(self, kinds: Iterable[Kind], on_event: OnEvent) -> None:
        """Report changes of these kinds until cancelled: (gone, kind, object)."""


@dataclass(frozen=True)
class Webhook:
    """The admission server: port, certificate files, TLS context, and the check of objects."""

    port: int
    certificate: Path
    key: Path
    context: ssl.SSLContext
    check: Check


class KopfSource:
    """webhook is None without an admission server, kubeconfig is None in a pod."""

    def __init__(self, webhook: Webhook | None = None, kubeconfig: str | None = None) -> None:
        self._webhook, self._kubeconfig = webhook, kubeconfig
        self.ready = asyncio.Event()
        logging.getLogger("kopf").setLevel(logging.WARNING)

    async def run(self, kinds: Iterable[Kind], on_event: OnEvent) -> None:
        registry = kopf.OperatorRegistry()
        for kind in kinds:
            _watch(registry, kind, on_event)
        self._login(registry)
        if self._webhook:
            for resource in ADMITTED:
                _admission(registry, resource.KIND, self._webhook.check)
        vault = Vault()
        try:
            await kopf.operator(
                registry=registry,
                settings=self._settings(kinds),
                standalone=True,
                clusterwide=True,
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
        if self._webhook:
            settings.admission.server = kopf.WebhookServer(
                addr="0.0.0.0",  # noqa: S104 - the API server reaches the pod from outside
                port=self._webhook.port,
                certfile=self._webhook.certificate,
                pkeyfile=self._webhook.key,
                context=self._webhook.context,
                file_check_interval=math.inf,  # Certificate reloads it; Kopf would briefly close the port
            )
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


def _admission(registry: kopf.OperatorRegistry, kind: Kind, check: Check) -> None:
    @kopf.on.validate(
        kind.group, kind.version, kind.plural, registry=registry, id="validate", operations=["CREATE", "UPDATE"]
    )
    async def validate(body: Any, dryrun: bool, **more: Any) -> None:
        obj, old = dict(body), more.get("old")
        try:
            errors = check(obj, dict(old) if old else None, dryrun)
        except Exception as error:  # Kopf would return its text to the client
            faults.note("admission", error, kind=kind.kind)
            raise kopf.AdmissionError(faults.words(error), code=500) from None
        if errors:
            raise kopf.AdmissionError("\n".join(errors), code=422)
