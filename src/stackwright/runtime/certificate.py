"""The certificate of the admission server: made by the operator, kept in a Secret, renewed while it is served.

The API server trusts it by the authority in the webhook's configuration. So no key is ever in a chart's values or in
the record of a Helm release, and no other program is needed to issue it.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path

import structlog

from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.core.objects import MANAGED
from stackwright.core.plan import Object
from stackwright.core.ports import Clock, Cluster, secret_data
from stackwright.core.secrets import renewal
from stackwright.runtime import x509

CONFIGURATION = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False
)
NAME = "stackwright"
SECRET_NAME = "stackwright-webhook-tls"  # noqa: S105 - a name
EVERY = 600.0  # seconds from one look at it to the next
SETTLE = 10.0  # seconds until API servers have learned of another authority
log = structlog.get_logger()


class Certificate:
    """`context` serves it from the first `ensure` on; `certificate` and `key` are its files, in `folder`."""

    def __init__(self, cluster: Cluster, namespace: str, folder: Path, clock: Clock) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self._cluster, self._namespace, self._clock = cluster, namespace, clock
        self._served = ""

    async def keep(self) -> None:
        """Renew it whenever it must be, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                await self.ensure()
            except Exception:
                log.exception("the certificate of the webhook could not be checked", again_in=EVERY)

    async def ensure(self) -> None:
        """Serve a good one. API servers trust it before it is served, and the former one for as long as that is."""
        data = await self._kept()
        if data["tls.crt"] != self._served:
            await self._trust(data["ca.crt"], beside=True)
            if self._served:
                await asyncio.sleep(SETTLE)
            self._load(data)
        await self._trust(data["ca.crt"], beside=False)

    async def _kept(self) -> dict[str, str]:
        """Of the Secret, which gets a new one if that is not good."""
        secret = await self._cluster.get(SECRET, (self._namespace, SECRET_NAME))
        names = [f"stackwright-webhook.{self._namespace}.svc", f"stackwright-webhook.{self._namespace}"]
        now = self._clock.now()
        if secret and _good(secret, names[0], now):
            return secret_data(secret)
        authority = x509.authority("stackwright-webhook", now, x509.LIFE)
        data, _ = x509.issue(authority, names, [], now)  # the authority's key is dropped
        await self._cluster.apply(SECRET, _secret(self._namespace, data), "stackwright-webhook")
        return data

    async def _trust(self, authority: str, *, beside: bool) -> None:
        """In all webhooks of the configuration; beside those they trust already, or alone."""
        configuration = await self._cluster.get(CONFIGURATION, ("", NAME))
        if configuration is None:
            return  # installed without admission, as the chart's value webhook.create=false does
        hooks = configuration.get("webhooks") or []
        wanted = [_trusting(hook, authority, beside) for hook in hooks]
        if wanted == hooks:
            return
        version = configuration["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "webhooks": wanted}
        await self._cluster.patch(CONFIGURATION, ("", NAME), patch)

    def _load(self, data: dict[str, str]) -> None:
        """Connections that are open go on; new ones get the new certificate."""
        self.certificate.write_text(data["tls.crt"])
        self.key.touch(mode=0o600)
        self.key.write_text(data["tls.key"])
        self.context.load_cert_chain(self.certificate, self.key)
        self._served = data["tls.crt"]


def _good(secret: Object, name: str, now: float) -> bool:
    """Served now, it is accepted now and for as long as it takes to renew it."""
    try:
        data = secret_data(secret)
        last = max(x509.ends(data["tls.crt"]), x509.ends(data["ca.crt"]))
    except (KeyError, ValueError):
        return False
    return renewal.left(last, now) > 0 and all(x509.serves(data, name, at) for at in (now, now + renewal.BEFORE))


def _trusting(hook: Object, authority: str, beside: bool) -> Object:
    config = hook["clientConfig"]
    trusted = base64.b64decode(config.get("caBundle") or "").decode() if beside else ""
    if authority not in trusted:
        trusted += authority
    return {**hook, "clientConfig": {**config, "caBundle": base64.b64encode(trusted.encode()).decode()}}


def _secret(namespace: str, data: dict[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET_NAME, "namespace": namespace, "labels": dict(MANAGED)},
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(value.encode()).decode() for name, value in data.items()},
    }
