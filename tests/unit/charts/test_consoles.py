"""Consoles of virtual machines: between Nova's proxy and the hypervisor each knows the other by its certificate."""

import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stackwright.api.services.kinds import ServiceSpec
from stackwright.runtime import x509
from stackwright.services.context import COMPUTE, Context, NodeRef
from stackwright.services.nova import SERVICE, libvirt
from stackwright.services.nova.features import NovaSettings
from support.paths import ROOT

SCRIPT = ROOT / "charts/nova/bin/novncproxy.py"


def values(**asked: Any) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Values of libvirt and of Nova, and the names of the requested certificates."""
    nodes = {"=".join(COMPUTE): (NodeRef("one", "10.0.0.1"),)}
    context = Context("nova", "openstack", ServiceSpec(), {}, NovaSettings.model_validate(asked), nodes)
    names = [certificate.name for certificate in SERVICE.certificates(context)]
    return libvirt.values(context), SERVICE.charts[1].values(context), names


def test_hypervisors_accept_clients_with_a_certificate_as_the_proxy_has() -> None:
    hypervisor, nova, certificates = values()
    assert hypervisor["conf"]["qemu"]["vnc_tls"] is True
    assert nova["secrets"]["tls"]["novncproxy"] in certificates


def test_consoles_keep_tls_when_live_migration_has_none() -> None:
    hypervisor, nova, certificates = values(libvirt={"tls": {"enabled": False}})
    assert hypervisor["conf"]["qemu"] == {"migrate_tls_force": False, "vnc_tls": True}
    assert nova["conf"]["nova"]["libvirt"]["live_migration_with_native_tls"] is False
    secrets = hypervisor["secrets"]["tls"], nova["secrets"]["tls"]["novncproxy"]
    assert secrets == ({"libvirt": "libvirt-tls", "qemu": "libvirt-qemu-tls"}, "nova-novncproxy-tls")
    assert certificates == ["libvirt-tls", "libvirt-qemu-tls", "nova-novncproxy-tls"]


@pytest.fixture
def wrap(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ssl.SSLSocket]:
    """The script's function for Nova, which calls it like that of Python."""
    started: list[list[str]] = []
    modules = {name: ModuleType(name) for name in ("nova", "nova.cmd", "nova.cmd.novncproxy")}
    modules["nova.cmd.novncproxy"].main = lambda: started.append(sys.argv)  # type: ignore[attr-defined]
    modules["nova.cmd"].novncproxy = modules["nova.cmd.novncproxy"]  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(sys, "argv", ["novncproxy.py", "--web", "/usr/share/novnc"])
    monkeypatch.setattr(ssl, "wrap_socket", None, raising=False)
    exec(compile(SCRIPT.read_text(), str(SCRIPT), "exec"), {})
    assert started == [["nova-novncproxy", "--web", "/usr/share/novnc"]]
    made: Callable[..., ssl.SSLSocket] = ssl.wrap_socket  # type: ignore[attr-defined]
    return made


def written(folder: Path, authority: dict[str, str], address: str) -> dict[str, str]:
    """Files with a certificate for an address, as Nova names them."""
    issued, _ = x509.issue(authority, ["someone"], [address], time.time())
    folder.mkdir()
    for name, text in issued.items():
        (folder / name).write_text(text)
    return {"keyfile": f"{folder}/tls.key", "certfile": f"{folder}/tls.crt", "ca_certs": f"{folder}/ca.crt"}


def hypervisor(files: dict[str, str]) -> tuple[str, int]:
    """Responds to one connection over TLS, if the client has a certificate of the CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["certfile"], files["keyfile"])
    context.load_verify_locations(files["ca_certs"])
    context.verify_mode = ssl.CERT_REQUIRED
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening, listening.accept()[0] as accepted:
            try:
                with context.wrap_socket(accepted, server_side=True) as wrapped:
                    wrapped.sendall(b"RFB")
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    address: tuple[str, int] = listening.getsockname()
    return address


def asked(wrap: Callable[..., ssl.SSLSocket], address: tuple[str, int], files: dict[str, str]) -> bytes:
    with socket.create_connection(address, timeout=10) as plain:
        more = {"server_side": False, "cert_reqs": ssl.CERT_REQUIRED}
        with wrap(plain, **files, **more) as wrapped:
            return wrapped.recv(3)


def test_the_proxy_reaches_a_hypervisor_at_its_own_address_only(wrap: Any, tmp_path: Path) -> None:
    ours = x509.authority("ours", time.time())
    proxy = written(tmp_path / "proxy", ours, "127.0.0.9")
    assert asked(wrap, hypervisor(written(tmp_path / "here", ours, "127.0.0.1")), proxy) == b"RFB"
    for name, authority, address in (
        ("another-address", ours, "127.0.0.2"),
        ("another-authority", x509.authority("theirs", time.time()), "127.0.0.1"),
    ):
        with pytest.raises(ssl.SSLCertVerificationError):
            asked(wrap, hypervisor(written(tmp_path / name, authority, address)), proxy)


def test_a_hypervisor_rejects_clients_without_a_certificate_of_the_cloud(wrap: Any, tmp_path: Path) -> None:
    ours = x509.authority("ours", time.time())
    here = written(tmp_path / "here", ours, "127.0.0.1")
    stranger = written(tmp_path / "stranger", x509.authority("theirs", time.time()), "127.0.0.9")
    with pytest.raises(OSError):  # which errors of TLS are: it refuses after the client's handshake
        asked(wrap, hypervisor(here), {**stranger, "ca_certs": here["ca_certs"]})
