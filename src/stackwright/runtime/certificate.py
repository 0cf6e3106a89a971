"""The certificate of the admission server: made by the operator, kept in a Secret, renewed before it ends.

The API server trusts it by the CA in the webhook's configuration. So no key is ever in a chart's values or in the
record of a Helm release, and no other program is needed to issue it.
"""

from __future__ import annotations

import base64
import datetime
from pathlib import Path

from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.core.objects import MANAGED
from stackwright.core.plan import Object
from stackwright.core.ports import Cluster, secret_data
from stackwright.runtime import x509

CONFIGURATION = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False
)
NAME = "stackwright"
SECRET_NAME = "stackwright-webhook-tls"  # noqa: S105 - a name
RENEW_BEFORE = datetime.timedelta(days=90)


async def install(cluster: Cluster, namespace: str, folder: Path) -> tuple[str, str]:
    """Certificate and key as files in `folder`; the API server is told to trust them."""
    data = secret_data(await cluster.get(SECRET, (namespace, SECRET_NAME)))
    if not _good(data.get("tls.crt", "")):
        now = datetime.datetime.now(datetime.UTC).timestamp()
        names = [f"stackwright-webhook.{namespace}.svc", f"stackwright-webhook.{namespace}"]
        data, _ = x509.issue(
            x509.authority("stackwright-webhook", now), names, [], now
        )  # the authority's key is dropped
        await cluster.apply(SECRET, _secret(namespace, data), "stackwright-webhook")
    await _trust(cluster, data["ca.crt"])
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_text(data["tls.crt"])
    key.touch(mode=0o600)
    key.write_text(data["tls.key"])
    return str(certificate), str(key)


async def _trust(cluster: Cluster, authority: str) -> None:
    bundle = base64.b64encode(authority.encode()).decode()
    configuration = await cluster.get(CONFIGURATION, ("", NAME))
    if configuration is None:
        return  # installed without admission, as the chart's value webhook.create=false does
    hooks = configuration.get("webhooks") or []
    if all(hook["clientConfig"].get("caBundle") == bundle for hook in hooks):
        return
    wanted = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": bundle}} for hook in hooks]
    version = configuration["metadata"]["resourceVersion"]
    await cluster.patch(CONFIGURATION, ("", NAME), {"metadata": {"resourceVersion": version}, "webhooks": wanted})


def _good(pem: str) -> bool:
    if not pem:
        return False
    return x509.ends(pem) - datetime.datetime.now(datetime.UTC).timestamp() > RENEW_BEFORE.total_seconds()


def _secret(namespace: str, data: dict[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET_NAME, "namespace": namespace, "labels": dict(MANAGED)},
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(value.encode()).decode() for name, value in data.items()},
    }
