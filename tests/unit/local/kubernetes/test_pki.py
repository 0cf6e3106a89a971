import datetime
import json
import os
import stat
import time
from pathlib import Path

import pytest
from cryptography import x509

from stackwright.local.config import LocalCluster
from stackwright.local.kubernetes import identities, pki
from stackwright.local.kubernetes.pki import Identity

WEB = Identity("web", "web", hosts=("web.example", "10.0.0.1"))


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    for name in identities.AUTHORITIES:
        pki.ensure_authority(tmp_path, name)
    return tmp_path


def certificate(keys: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((keys / f"{name}.crt").read_bytes())


def test_a_certificate_is_created_once(keys: Path) -> None:
    assert pki.ensure_identity(keys, WEB)
    before = certificate(keys, "web").serial_number
    assert not pki.ensure_identity(keys, WEB)
    assert certificate(keys, "web").serial_number == before


def test_a_certificate_is_recreated_when_its_hosts_change(keys: Path) -> None:
    pki.ensure_identity(keys, WEB)
    assert pki.ensure_identity(keys, Identity("web", "web", hosts=("other.example",)))
    names = certificate(keys, "web").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["other.example"]


@pytest.mark.parametrize(("hours", "made"), [(-5 * 365 * 24, True), (-1, False), (0.9, False), (1.1, True)])
def test_a_certificate_is_made_again_when_it_is_not_valid_by_the_clock(keys: Path, hours: float, made: bool) -> None:
    """The clock may have been ahead when it was made."""
    pki.ensure_identity(keys, WEB)
    then = time.time() + hours * 3600
    os.utime(keys / "web.inputs", (then, then))
    assert pki.ensure_identity(keys, WEB) is made


def test_a_ca_is_valid_after_the_clock_is_set_back_by_years(keys: Path) -> None:
    """It is not replaced, because all certificates would have to change at once."""
    begin = certificate(keys, "ca").not_valid_before_utc
    assert begin < datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=5 * 365)


def test_the_signer_is_the_named_authority(keys: Path) -> None:
    pki.ensure_identity(keys, Identity("proxy", "front-proxy-client", authority="front-proxy-ca"))
    certificate(keys, "proxy").verify_directly_issued_by(certificate(keys, "front-proxy-ca"))


def test_keys_are_readable_by_their_owner_only(keys: Path) -> None:
    pki.ensure_identity(keys, WEB)
    pki.ensure_encryption_config(keys)
    for path in keys.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_the_encryption_key_is_never_replaced(keys: Path) -> None:
    pki.ensure_encryption_config(keys)
    before = (keys / "encryption.yaml").read_text()
    pki.ensure_encryption_config(keys)
    assert (keys / "encryption.yaml").read_text() == before


def test_secrets_are_encrypted_before_anything_else_is_tried() -> None:
    text = pki.encryption_config(b"k" * 32)
    assert text.index("secretbox") < text.index("identity")


def test_kubelets_have_the_identity_of_the_node_authorizer() -> None:
    node = LocalCluster(Path("/s"), Path("/c")).node(3)
    client, serving = identities.of_node(node)
    assert (client.name, client.group) == ("system:node:node3", "system:nodes")
    assert serving.hosts == ("node3", "10.89.0.13")


def test_a_portable_kubeconfig_points_nowhere(keys: Path) -> None:
    pki.ensure_identity(keys, identities.ADMIN)
    text = identities.portable_kubeconfig(keys, identities.ADMIN, "https://10.89.0.1:6443")
    assert str(keys) not in text
    assert json.loads(text)["clusters"][0]["cluster"]["server"] == "https://10.89.0.1:6443"
