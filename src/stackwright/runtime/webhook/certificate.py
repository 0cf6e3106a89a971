"""The certificate of the admission server: issued by the operator, stored in a Secret, renewed while in use.

The API server trusts it through the CA bundle in the webhook configuration. So no key is in chart values or Helm
release records, and no other program is needed to issue certificates. If another program issues it, it is read from a
folder (`mounted.py`), and again after each change. Another program may write the CA bundle, too.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path

import structlog

from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.core.errors import place
from stackwright.core.objects import MANAGED, secret_data
from stackwright.core.plan import Object
from stackwright.core.ports import Clock, Cluster
from stackwright.core.secrets.certificate_validity import BEFORE, LIFE, seconds_left
from stackwright.runtime import x509
from stackwright.runtime.webhook import mounted

CONFIGURATION = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False
)
NAME = "stackwright"
SECRET_NAME = "stackwright-webhook-tls"  # noqa: S105 - a name
EVERY = 600.0  # seconds between two checks
FOLLOW = 3.0  # seconds between two reads by an operator without the Lease; two of them fit into SETTLE
SETTLE = 10.0  # seconds until API servers have observed a new CA bundle
log = structlog.get_logger()


class Certificate:
    """`context` serves the certificate after the first `ensure`; `certificate` and `key` are its files in `folder`.

    mounted  folder with the certificate of another issuer; without it, the operator issues it
    trusts   whether the operator writes the CA into the webhook configuration
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        folder: Path,
        clock: Clock,
        mounted: Path | None = None,
        trusts: bool = True,
    ) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self._cluster, self._namespace, self._clock = cluster, namespace, clock
        self._mounted, self._trusts = mounted, trusts
        self._served = self._next = self._problem = ""
        self._checked: dict[str, str] = {}
        self._owned = False

    @property
    def served(self) -> bool:
        return bool(self._served)

    async def keep(self) -> None:
        """Check and renew the certificate periodically, until cancelled.

        Before the first `ensure` it writes nothing, and serves the certificate that another operator maintains. API
        servers trust a new certificate beside the former one for SETTLE seconds; it is served when two reads find it
        trusted.
        """
        while not self._owned:
            try:
                await self._follow()
            except Exception as error:
                log.warning("the certificate of the webhook could not be read", cause=place(error))
            await asyncio.sleep(FOLLOW)
        while True:
            await self._until_due()
            try:
                await self.ensure()
            except Exception:
                log.exception("the certificate of the webhook could not be checked", again_in=EVERY)

    async def ensure(self) -> None:
        """Serve a valid certificate. API servers trust a new one before it is served, and the old one until then."""
        self._owned = True
        data = await self._kept() if self._mounted is None else self._given(self._mounted)
        if data is None:  # of another issuer, and unusable; a former one is still served
            return
        if data["tls.crt"] != self._served:
            await self._trust(data, beside=True)
            if self._served and self._trusts:
                await asyncio.sleep(SETTLE)
            self._load(data)
        await self._trust(data, beside=False)

    async def _until_due(self) -> None:
        """Wait EVERY seconds, or until another certificate is mounted that can be served."""
        for _ in range(int(EVERY / FOLLOW)):
            await asyncio.sleep(FOLLOW)
            if (
                self._mounted
                and mounted.read(self._mounted).get("tls.crt") != self._served
                and self._given(self._mounted)
            ):
                return

    async def _follow(self) -> None:
        data = await self._stored() if self._mounted is None else self._given(self._mounted)
        if data is None or data["tls.crt"] == self._served or not await self._is_trusted(data):
            return
        if not self._owned and (not self._served or self._next == data["tls.crt"]):
            self._load(data)
        self._next = data["tls.crt"]

    async def _is_trusted(self, data: dict[str, str]) -> bool:
        if not self._trusts:
            return True
        configuration = await self._cluster.get(CONFIGURATION, ("", NAME)) or {}
        hooks = configuration.get("webhooks") or []
        return all(_trusting(hook, data["ca.crt"], True) == hook for hook in hooks)

    async def _stored(self) -> dict[str, str] | None:
        """Data of the Secret, if its certificate is valid."""
        secret = await self._cluster.get(SECRET, (self._namespace, SECRET_NAME))
        if secret is None or not x509.serves(secret_data(secret), self._names()[0], self._clock.now()):
            return None
        return secret_data(secret)

    def _given(self, folder: Path) -> dict[str, str] | None:
        """The files of the folder; None if they cannot be served. A problem is logged once, unless it changes."""
        data = self._checked = mounted.read(folder)
        problem = mounted.problem(folder, data, self._names()[0], self._clock.now(), self._trusts)
        if problem and problem != self._problem:
            log.error("the certificate of the webhook is not used", folder=str(folder), problem=problem)
        self._problem = problem
        return None if problem else data

    async def _kept(self) -> dict[str, str]:
        """Data of the Secret, with a new certificate if the stored one is not valid for long enough."""
        secret = await self._cluster.get(SECRET, (self._namespace, SECRET_NAME))
        names, now = self._names(), self._clock.now()
        if secret and _good(secret, names[0], now):
            return secret_data(secret)
        authority = x509.authority("stackwright-webhook", now, LIFE)
        data, _ = x509.issue(authority, names, [], now)  # the key of the CA is discarded
        await self._cluster.apply(SECRET, _secret(self._namespace, data), "stackwright-webhook")
        return data

    def _names(self) -> list[str]:
        return [f"stackwright-webhook.{self._namespace}.svc", f"stackwright-webhook.{self._namespace}"]

    async def _trust(self, data: dict[str, str], *, beside: bool) -> None:
        """Write the CA into all webhooks of the configuration; `beside` keeps the CAs that they already trust."""
        if not self._trusts:
            return
        configuration = await self._cluster.get(CONFIGURATION, ("", NAME))
        if configuration is None:
            return  # installed without admission (chart value webhook.create=false)
        hooks = configuration.get("webhooks") or []
        wanted = [_trusting(hook, data["ca.crt"], beside) for hook in hooks]
        if wanted == hooks:
            return
        version = configuration["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "webhooks": wanted}
        await self._cluster.patch(CONFIGURATION, ("", NAME), patch)

    def _load(self, data: dict[str, str]) -> None:
        """Load the certificate for new connections; open connections continue."""
        self.certificate.write_text(data["tls.crt"])
        self.key.touch(mode=0o600)
        self.key.write_text(data["tls.key"])
        self.context.load_cert_chain(self.certificate, self.key)
        self._served = data["tls.crt"]


def _good(secret: Object, name: str, now: float) -> bool:
    """Whether clients accept the certificate now and BEFORE seconds from now."""
    try:
        data = secret_data(secret)
        last = max(x509.ends(data["tls.crt"]), x509.ends(data["ca.crt"]))
    except (KeyError, ValueError):
        return False
    return seconds_left(last, now) > 0 and all(x509.serves(data, name, at) for at in (now, now + BEFORE))


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
