"""Certificates of users: any text is accepted or rejected, without an internal error."""

from __future__ import annotations

import base64
import warnings

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from stackwright.core.secrets import pem
from stackwright.runtime import x509
from stackwright.services.ingress.features import problems
from tests.unit.runtime import odd_curves

NOW = 1_700_000_000.0
AUTHORITY = x509.authority("mine", NOW)
ISSUED, _ = x509.issue(AUTHORITY, ("a.example",), (), NOW)
GIVEN = {"ca_cert": AUTHORITY["ca.crt"], "api_cert": ISSUED["tls.crt"], "api_key": ISSUED["tls.key"]}
VERSION = bytes.fromhex("a003020102")  # [0] EXPLICIT INTEGER 2: X.509 v3


def mutated(pem: str, old: bytes, new: bytes) -> str:
    first, *lines, last = pem.strip().splitlines()
    der = base64.b64decode("".join(lines))
    return "\n".join([first, base64.b64encode(der.replace(old, new, 1)).decode(), last])


ODD = {field: mutated(GIVEN[field], VERSION, VERSION[:-1] + b"\x09") for field in ("ca_cert", "api_cert")}


@pytest.mark.parametrize("field", ODD)
def test_a_certificate_of_an_unknown_version_is_rejected(field: str) -> None:
    assert problems(GIVEN) == {}
    assert list(problems(GIVEN | {field: ODD[field]})) == [field]


@given(st.sampled_from(sorted(GIVEN)), st.data())
def test_a_certificate_with_changed_bytes_is_accepted_or_rejected(field: str, data: st.DataObject) -> None:
    lines = GIVEN[field].strip().splitlines()
    der = bytearray(base64.b64decode("".join(lines[1:-1])))
    for place in data.draw(st.lists(st.integers(0, len(der) - 1), min_size=1, max_size=4)):
        der[place] = data.draw(st.integers(0, 255))
    text = "\n".join([lines[0], base64.b64encode(bytes(der)).decode(), lines[-1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rejected by a later version of the library
        assert set(problems(GIVEN | {field: text})) <= set(GIVEN)


def test_an_invalid_ca_of_a_user_raises_only_a_value_error() -> None:
    for other in ({"ca.crt": ODD["ca_cert"]}, {"ca.key": "-----BEGIN PRIVATE KEY-----"}):
        with pytest.raises(ValueError):
            x509.issue(AUTHORITY | other, ("a.example",), (), NOW)
    with pytest.raises(ValueError):
        x509.ends(ODD["ca_cert"])
    data = {"ca.crt": ODD["ca_cert"], "tls.crt": ISSUED["tls.crt"], "tls.key": ISSUED["tls.key"]}
    assert not x509.serves(data, "a.example", NOW)


def test_only_the_first_certificate_of_a_bundle_is_read_for_certificates_that_we_issue() -> None:
    bundle = AUTHORITY["ca.crt"] + ODD["ca_cert"]
    assert x509.ends(bundle) == x509.ends(AUTHORITY["ca.crt"])
    made, _ = x509.issue(AUTHORITY | {"ca.crt": bundle}, ("a.example",), (), NOW)
    assert x509.serves(made, "a.example", NOW)
    assert list(problems(GIVEN | {"ca_cert": bundle})) == ["ca_cert"], "all others are for clients that read all"


@pytest.mark.parametrize("odd", [odd_curves.NAMED, odd_curves.EXPLICIT])
def test_a_certificate_with_a_key_on_an_unknown_curve_is_rejected(odd: str) -> None:
    """Its key is parsed later than the rest, and the error is not a ValueError."""
    data = {"ca.crt": odd_curves.AUTHORITY, "tls.crt": odd, "tls.key": ISSUED["tls.key"]}
    assert not x509.serves(data, "a.example", odd_curves.NOW)
    assert not x509.serves(ISSUED | {"ca.crt": odd}, "a.example", NOW)
    for refused in (lambda: x509.ends(odd), lambda: x509.issue(AUTHORITY | {"ca.crt": odd}, ("a.example",), (), NOW)):
        with pytest.raises(ValueError, match=r"(?i)curve"):
            refused()
    assert list(problems(GIVEN | {"api_cert": odd})) == ["api_cert"]
    assert list(problems(GIVEN | {"ca_cert": odd})) == ["ca_cert"]


def test_the_numbers_of_an_rsa_key_are_checked_where_we_sign_or_serve_with_it() -> None:
    numbers = rsa.generate_private_key(65537, 2048).private_numbers()
    broken = rsa.RSAPrivateNumbers(
        numbers.p, numbers.q, numbers.d + 2, numbers.dmp1, numbers.dmq1, numbers.iqmp, numbers.public_numbers
    ).private_key(unsafe_skip_rsa_key_validation=True)
    text = broken.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(ValueError):
        pem.private_key(text)
    assert pem.private_key(text, checked=False)
