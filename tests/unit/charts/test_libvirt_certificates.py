"""The certificates on a node: QEMU has its own, and both are replaced when the Secrets change."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "charts/libvirt/bin/certificates.sh"
FILES = {
    "CA/cacert.pem": "libvirt ca.crt",
    "libvirt/servercert.pem": "libvirt tls.crt",
    "libvirt/clientcert.pem": "libvirt tls.crt",
    "libvirt/private/serverkey.pem": "libvirt tls.key",
    "libvirt/private/clientkey.pem": "libvirt tls.key",
    "qemu/ca-cert.pem": "qemu ca.crt",
    "qemu/server-cert.pem": "qemu tls.crt",
    "qemu/server-key.pem": "qemu tls.key",
    "qemu/client-cert.pem": "qemu tls.crt",
    "qemu/client-key.pem": "qemu tls.key",
}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    for of in ("libvirt", "qemu"):
        (tmp_path / of).mkdir()
        for name in ("ca.crt", "tls.crt", "tls.key"):
            (tmp_path / of / name).write_text(f"{of} {name}")
    (tmp_path / "etc").mkdir()
    return tmp_path


def run(node: Path, script: str, tls: str = "libvirt") -> str:
    """The commands to libvirt."""
    text = SCRIPT.read_text().replace("/etc/pki", f"{node}/etc/pki")
    tell = 'virt-admin() { echo "$1" >>"$TOLD"; }; virsh() { echo "$4" >>"$TOLD"; }'
    once = "rounds=0; sleep() { ((rounds++ < 1)); }"
    group = subprocess.check_output(["id", "-gn"], text=True).strip()
    env = {"TLS": tls and f"{node}/{tls}", "QEMU_TLS": f"{node}/qemu", "QEMU_GROUP": group, "TOLD": f"{node}/told"}
    (node / "told").write_text("")
    subprocess.run(
        ["bash", "-euc", f"{text}\n{tell}\n{once}\n{script}"], env={**os.environ, **env}, check=True, timeout=30
    )
    return (node / "told").read_text()


def on_node(node: Path) -> dict[str, str]:
    pki = node / "etc/pki"
    return {str(file.relative_to(pki)): file.read_text() for file in pki.rglob("*") if file.is_file()}


def test_qemu_has_a_separate_key_and_cannot_read_that_of_libvirt(node: Path) -> None:
    run(node, "publish_certificates")
    assert on_node(node) == FILES
    modes = {name: (node / "etc/pki" / name).stat().st_mode & 0o777 for name in FILES}
    assert {name for name, mode in modes.items() if mode & 0o077} == {name for name in FILES if "qemu/" in name}
    assert (node / "etc/pki/libvirt/private").stat().st_mode & 0o777 == 0o700


def test_the_key_that_an_earlier_version_gave_to_qemu_is_replaced(node: Path) -> None:
    run(node, "QEMU_TLS=$TLS publish_certificates")
    assert "libvirt tls.key" in on_node(node)["qemu/server-key.pem"]
    run(node, "publish_certificates")
    assert on_node(node) == FILES


@pytest.mark.parametrize("changed", ["libvirt/tls.crt", "libvirt/ca.crt", "qemu/tls.crt", ""])
def test_a_new_certificate_of_either_is_installed_and_reported(node: Path, changed: str) -> None:
    run(node, "publish_certificates")
    if changed:
        (node / changed).write_text("new")
    told = run(node, "follow_certificates || true")
    assert ("server-update-tls" in told) is bool(changed)
    assert ("new" in on_node(node).values()) is bool(changed)


@pytest.mark.parametrize("changed", ["qemu/tls.crt", "qemu/ca.crt", ""])
def test_consoles_have_certificates_when_live_migration_has_none(node: Path, changed: str) -> None:
    run(node, "publish_certificates", tls="")
    assert on_node(node) == {name: text for name, text in FILES.items() if "qemu/" in name}
    if changed:
        (node / changed).write_text("new")
    told = run(node, "follow_certificates || true", tls="")
    assert "server-update-tls" not in told, "libvirtd has none"
    assert bool(told) is bool(changed)
    assert ("new" in on_node(node).values()) is bool(changed)
