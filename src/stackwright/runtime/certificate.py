"""The certificate of the admission server: made by the operator, kept in a Secret, renewed before it ends.

The API server trusts it by the CA in the webhook's configuration. So no key is ever in a chart's values or in the
record of a Helm release, and no other program is needed to issue it.
"""

from __future__ import annotations

import base64
import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.core.objects import MANAGED
from stackwright.core.plan import Object
from stackwright.core.ports import Cluster, secret_data

CONFIGURATION = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False
)
NAME = "stackwright"
SECRET_NAME = "stackwright-webhook-tls"  # noqa: S105 - a name
LIFE = datetime.timedelta(days=365)
RENEW_BEFORE = datetime.timedelta(days=90)


async def install(cluster: Cluster, namespace: str, folder: Path) -> tuple[str, str]:
    """Certificate and key as files in `folder`; the API server is told to trust them."""
    data = secret_data(await cluster.get(SECRET, (namespace, SECRET_NAME)))
    if not _good(data.get("tls.crt", "")):
        data = issue([f"stackwright-webhook.{namespace}.svc", f"stackwright-webhook.{namespace}"])
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
    left = x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    return left > RENEW_BEFORE


def issue(names: list[str]) -> dict[str, str]:
    """A new CA and a server certificate for DNS names: ca.crt, tls.crt, tls.key in PEM. The CA's key is dropped."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stackwright-webhook")])
    now = datetime.datetime.now(datetime.UTC)

    def builder(of: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        start = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(of.public_key())
        start = start.serial_number(x509.random_serial_number())
        return start.not_valid_before(now - datetime.timedelta(minutes=5)).not_valid_after(now + LIFE)

    authority = builder(authority_key).add_extension(x509.BasicConstraints(True, 0), critical=True)
    server = builder(key).add_extension(x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), critical=False)
    server = server.add_extension(x509.BasicConstraints(False, None), critical=True)
    return {
        "ca.crt": _pem(authority.sign(authority_key, hashes.SHA256())),
        "tls.crt": _pem(server.sign(authority_key, hashes.SHA256())),
        "tls.key": key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    }


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _secret(namespace: str, data: dict[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET_NAME, "namespace": namespace, "labels": dict(MANAGED)},
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(value.encode()).decode() for name, value in data.items()},
    }
