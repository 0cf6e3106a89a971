"""Keys and certificates that the operator generates: CAs, certificates, and SSH key pairs. All are PEM."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from stackwright.core.secrets import pem
from stackwright.core.secrets.certificate_validity import AUTHORITY_LIFE, EARLIER, LIFE

T = TypeVar("T")


def authority(name: str, now: float, life: float = AUTHORITY_LIFE) -> dict[str, str]:
    """A new CA: ca.crt, ca.key. It is valid from `life` seconds ago, so that a CA created while the clock was ahead
    remains usable.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _named(name)
    builder = _builder(subject, subject, key, now, life, earlier=life)
    builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
    builder = builder.add_extension(_usage(signs=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return {"ca.crt": _pem(builder.sign(key, hashes.SHA256())), "ca.key": _key(key)}


def issue(
    issuer: Mapping[str, str],
    names: Sequence[str],
    addresses: Sequence[str],
    now: float,
    subject: str = "",
    server_only: bool = False,
) -> tuple[dict[str, str], float]:
    """A certificate for servers and clients with these names: tls.crt, tls.key, ca.crt; and its end (epoch seconds).
    Raises ValueError with the field of the issuer that cannot be used.

    subject  its common name; the first of the names if empty
    """
    ca, ca_key = _read(issuer, "ca.crt", pem.certificate), _read(issuer, "ca.key", pem.private_key)
    if not isinstance(ca_key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key of the CA is not an elliptic curve key")
    key = ec.generate_private_key(ec.SECP256R1())
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    builder = _builder(_named(subject or (*names, *addresses)[0]), ca.subject, key, now, LIFE)
    builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(False, None), critical=True)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, *([] if server_only else [ExtendedKeyUsageOID.CLIENT_AUTH])]
    builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    made = {"tls.crt": _pem(builder.sign(ca_key, hashes.SHA256())), "tls.key": _key(key), "ca.crt": issuer["ca.crt"]}
    return made, (min(ca.not_valid_after_utc, _time(now + LIFE))).timestamp()


def _read(data: Mapping[str, str], field: str, parse: Callable[[str], T]) -> T:
    """The parsed field. Raises ValueError with its name."""
    if not data.get(field):
        raise ValueError(f"{field} is missing")
    try:
        return parse(data[field])
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from None


def ssh_keypair() -> tuple[str, str]:
    """A new ed25519 key pair in OpenSSH format: private, public."""
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private.decode(), public.decode() + "\n"


def ends(certificate: str) -> float:
    """End of validity of a certificate, in seconds since the epoch. Raises ValueError."""
    return pem.certificate(certificate).not_valid_after_utc.timestamp()


def serves(data: Mapping[str, str], name: str, now: float) -> bool:
    """Whether a client that trusts ca.crt accepts tls.crt for a server of this name, and tls.key is its key.

    Both may have further certificates: those of other CAs, and intermediate ones of the server.
    """
    try:
        trusted, (own, *between) = (pem.readable(data[field]) for field in ("ca.crt", "tls.crt"))
        policy = PolicyBuilder().store(Store(trusted)).time(_time(now))
        policy.build_server_verifier(x509.DNSName(name)).verify(own, between)
    except (KeyError, ValueError, VerificationError):
        return False
    return is_pair(data)


def is_pair(data: Mapping[str, str]) -> bool:
    """Whether tls.key is the key of the first certificate in tls.crt."""
    try:
        own, key = pem.certificate(data["tls.crt"]), pem.private_key(data["tls.key"])
    except (KeyError, ValueError):
        return False
    return key.public_key() == own.public_key()


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _time(now: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(now, datetime.UTC)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: float,
    life: float,
    earlier: float = EARLIER,
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(_time(now - earlier)).not_valid_after(_time(now + life))


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key(key: ec.EllipticCurvePrivateKey) -> str:
    kind = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()).decode()
