"""Parses certificates and keys in PEM format, which users may provide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from stackwright.core.objects import MUST_BE_TEXT

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def certificates(text: str) -> list[x509.Certificate]:
    """All certificates of a text, at least one. The key of the first can be used.

    Raises only ValueError, also for a key of an unknown kind or on an unknown curve.
    """
    with _value_errors():
        found = x509.load_pem_x509_certificates(text.encode())
        found[0].public_key()  # it is parsed no earlier
    return found


def certificate(text: str) -> x509.Certificate:
    """The first certificate of a text, which must have a key that can be used; the others are not parsed.

    Raises only ValueError.
    """
    with _value_errors():
        found = x509.load_pem_x509_certificate(text.encode())
        found.public_key()  # it is parsed no earlier
    return found


def readable(text: str) -> list[x509.Certificate]:
    """The first certificate of a text, as `certificate`, and those of the others that can be read."""
    found = [certificate(text)]
    for block in _BLOCK.findall(text)[1:]:
        with suppress(ValueError):
            found.append(certificate(block))
    return found


def private_key(text: str, *, checked: bool = True) -> PrivateKeyTypes:
    """Parse a private key. Raises only ValueError, also for an encrypted key, or one of an unknown kind or on an
    unknown curve.

    checked  whether to check the consistency of an RSA key, which is slow
    """
    with _value_errors():
        return serialization.load_pem_private_key(text.encode(), None, unsafe_skip_rsa_key_validation=not checked)


@contextmanager
def _value_errors() -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError:
        raise ValueError(MUST_BE_TEXT) from None
    except (TypeError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise ValueError(str(error)) from None
