"""TLS of public endpoints: certificates in Secrets, or, as in most existing clouds, as text in the cloud's spec.

Validation replaces each text by a reference to the Secret GIVEN, which the operator creates from the texts
(core/secrets/writes.py). Therefore no setting, value, plan, status or message contains a certificate text. A key in
that Secret ends with the digest of its text, so a changed text changes the reference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError, WithJsonSchema, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from stackwright.api.crd import KEEP
from stackwright.api.fields.shared import SecretValue
from stackwright.api.meta import Model
from stackwright.api.support import Absent, absent
from stackwright.services.context import Settings, Values
from stackwright.services.declaration import set_fields

GIVEN = "openstack-given-certificate"
WHERE = ("features", "ssl", "public_endpoints")
LONGEST = 64 * 1024
CA, CERTIFICATE, KEY = FIELDS = ("ca_cert", "api_cert", "api_key")
_CERTIFICATES = "must be one or more certificates in PEM format, without a private key"
_KEY = "must be a private key in PEM format, without a passphrase"


def key_of(field: str, text: str) -> str:
    """The key of a text in the Secret GIVEN."""
    return f"{field}.{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:16]}"


def texts(spec: Mapping[str, Any]) -> dict[str, str]:
    """Field → text, for the fields that contain text in the spec of a cloud as the user wrote it."""
    found: Any = spec
    for part in WHERE:
        found = found.get(part) if isinstance(found, Mapping) else None
    return _texts(found)


def referenced(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a cloud with its texts replaced by references."""
    if not texts(spec):
        return dict(spec)
    features, ssl, endpoints = WHERE
    inner = spec[features][ssl]
    return {**spec, features: {**spec[features], ssl: {**inner, endpoints: _referenced(inner[endpoints])}}}


def _texts(endpoints: Any) -> dict[str, str]:
    given = endpoints if isinstance(endpoints, Mapping) else {}
    return {field: text for field in FIELDS if isinstance(text := given.get(field), str)}


def _referenced(endpoints: Mapping[str, Any]) -> dict[str, Any]:
    made = {
        field: {"value_from": {"secret_key_ref": {"name": GIVEN, "key": key_of(field, text)}}}
        for field, text in _texts(endpoints).items()
    }
    return {**endpoints, **made}


def problems(given: Mapping[str, str]) -> dict[str, str]:
    """Field → error in its text; the error does not quote the text."""
    # Imported here: the provisioner of local volumes runs without this library.
    from stackwright.core.secrets import pem

    found, public = {}, {}
    for field, text in given.items():
        try:
            if len(text) > LONGEST or (field != KEY and "PRIVATE KEY" in text):
                raise ValueError
            if field == KEY:
                # The slow consistency check of RSA keys is skipped. Only the public numbers are compared with the
                # certificate, so an invalid private exponent is first detected in TLS handshakes of the ingress.
                public[field] = pem.private_key(text, checked=False).public_key()
            else:
                public[field] = pem.certificates(text)[0].public_key()
        except ValueError:
            found[field] = _KEY if field == KEY else _CERTIFICATES
    if {CERTIFICATE, KEY} <= public.keys() and public[CERTIFICATE] != public[KEY]:
        found[KEY] = f"does not match {CERTIFICATE}: its first certificate must belong to the key"
    return found


class PublicEndpoints(Model):
    ca_cert: SecretValue = Field(description="CA certificate, PEM.")
    api_cert: SecretValue = Field(description="Certificate for *.<public_domain_name>, PEM.")
    api_key: SecretValue = Field(description="Private key of api_cert, PEM.")


# A text or an object: a structural schema cannot express this type, so it declares none.
_EITHER = "value_from.secret_key_ref with name and key, or the PEM text."
Given = Annotated[SecretValue, WithJsonSchema({KEEP: True})]


class GivenEndpoints(PublicEndpoints):
    """PublicEndpoints in the spec of a cloud, where each field may be a text."""

    ca_cert: Given = Field(description=f"CA certificate, PEM: {_EITHER}")
    api_cert: Given = Field(description=f"Certificate for *.<public_domain_name>, PEM: {_EITHER}")
    api_key: Given = Field(description=f"Private key of api_cert, PEM: {_EITHER}")

    @model_validator(mode="before")
    @classmethod
    def _texts_become_references(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if wrong := problems(_texts(value)):
            errors = [
                InitErrorDetails(type=PydanticCustomError("pem", message), loc=(field,), input="")
                for field, message in wrong.items()
            ]
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return _referenced(value)


class Ssl(Model):
    public_endpoints: GivenEndpoints | None = Field(
        None, description="TLS of public endpoints; default: Stackwright creates a CA and a certificate."
    )
    tls_proxy: Absent | None = absent("TLS proxies.")


class IngressSettings(Settings):
    """The part of features.ssl for public endpoints."""

    public_endpoints: PublicEndpoints | None = Field(
        None, description="TLS of public endpoints; default: Stackwright creates a CA and a certificate."
    )


def given_endpoints(ssl: Ssl) -> Values:
    """The settings from the features."""
    return {"public_endpoints": set_fields(ssl.public_endpoints)} if ssl.public_endpoints else {}
