"""Certificates, created with the `cryptography` library.

One CA signs all certificates of the cluster (API server, kubelets, etcd, clients). A second one signs only the front
proxy, because a client with its certificate may impersonate any user at aggregated APIs. The keys are ECDSA P-256,
which take microseconds to create; an RSA key takes a second.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from stackwright.core.secrets import pem
from stackwright.local.host.files import write_whole

CA_YEARS = 10
LEAF_YEARS = 5
RENEW_BEFORE = datetime.timedelta(days=90)
VALID_BEFORE = datetime.timedelta(hours=1)  # clocks of virtual machines jump after a restart
# A CA remains valid when the clock is set back, because all its certificates would have to change with it.
CA_VALID_BEFORE = datetime.timedelta(days=365 * CA_YEARS)


@dataclass(frozen=True)
class Identity:
    """Content of one certificate."""

    file: str
    name: str
    group: str = ""
    hosts: tuple[str, ...] = ()
    authority: str = "ca"

    def inputs(self) -> str:
        """Text of the stamp file beside the certificate; if it differs, the certificate is created again."""
        return f"v1 {self.name} {self.group} {','.join(self.hosts)} {self.authority}\n"


def write_private(path: Path, content: bytes | str) -> None:
    """Write a file atomically; only its owner can read it, even during the write."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(path, content, 0o600)


def ensure_authority(pki: Path, name: str) -> None:
    if (pki / f"{name}.crt").exists():
        return
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(f"stackwright-{name}", "")
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    certificate = (
        _builder(subject, subject, key.public_key(), CA_YEARS, CA_VALID_BEFORE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    # The certificate is written last: its presence proves that the pair is complete.
    write_private(pki / f"{name}.key", _private_pem(key))
    write_private(pki / f"{name}.crt", certificate.public_bytes(serialization.Encoding.PEM))


def ensure_identity(pki: Path, identity: Identity) -> bool:
    """Create the certificate unless the existing one is current. Returns whether one was created."""
    if is_current(pki, identity):
        return False
    authority = pem.certificate((pki / f"{identity.authority}.crt").read_text())
    signer = pem.private_key((pki / f"{identity.authority}.key").read_text())
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_subject(identity.name, identity.group), authority.subject, key.public_key(), LEAF_YEARS)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    # Python 3.13 and later refuse a certificate that does not name its signer's key.
    signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = builder.add_extension(signed_by, critical=False)
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages if identity.hosts else usages[:1]), critical=False)
    if identity.hosts:
        names = [_general_name(host) for host in identity.hosts]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(signer, hashes.SHA256())
    write_private(pki / f"{identity.file}.key", _private_pem(key))
    write_private(pki / f"{identity.file}.crt", certificate.public_bytes(serialization.Encoding.PEM))
    write_private(pki / f"{identity.file}.inputs", identity.inputs())
    return True


def is_current(pki: Path, identity: Identity) -> bool:
    """Whether the certificate is current, by content and age of its stamp: cheap enough for every `up`."""
    stamp = pki / f"{identity.file}.inputs"
    try:
        age = datetime.datetime.now(datetime.UTC).timestamp() - stamp.stat().st_mtime
        same = stamp.read_text() == identity.inputs()
    except OSError:
        return False
    lifetime = datetime.timedelta(days=365 * LEAF_YEARS) - RENEW_BEFORE
    return same and -VALID_BEFORE.total_seconds() < age < lifetime.total_seconds()


def ensure_service_account_key(pki: Path) -> None:
    if (pki / "service-account.pub").exists():
        return
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    write_private(pki / "service-account.key", _private_pem(key))
    write_private(pki / "service-account.pub", public)


def ensure_encryption_config(pki: Path) -> None:
    """Create the key that encrypts Secrets in etcd, once: all Secrets would be lost with it."""
    path = pki / "encryption.yaml"
    if not path.exists():
        write_private(path, encryption_config(os.urandom(32)))


def encryption_config(key: bytes) -> str:
    secret = base64.b64encode(key).decode()
    return (
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
        "- resources: [secrets]\n  providers:\n"
        f"  - secretbox:\n      keys:\n      - name: key1\n        secret: {secret}\n"
        "  - identity: {}\n"
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    years: int,
    before: datetime.timedelta = VALID_BEFORE,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - before)
        .not_valid_after(now + datetime.timedelta(days=365 * years))
    )


def _subject(name: str, group: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
