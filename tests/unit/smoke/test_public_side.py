"""The view of this machine on a cloud over TLS, against a server with a certificate of our own CA."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from http_cloud import HttpCloud

from stackwright.adapters.public_api import Endpoint, Live, look
from stackwright.cli.show.public import nodes
from stackwright.cli.ui.tree import lines
from stackwright.core.openstack.access import Access
from stackwright.core.openstack.agents import Agent
from stackwright.runtime import x509
from stackwright.smoke.host import RealHost
from stackwright.smoke.ports import Failed

AUTH = {
    "username": "admin", "password": "pw", "project_name": "admin", "user_domain_name": "Default",
    "project_domain_name": "Default",
}  # fmt: skip
UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x82\x0cRFB 003.008\n"


@pytest.fixture(scope="module")
def authority() -> dict[str, str]:
    return x509.authority("test", time.time())


@contextmanager
def serving(authority: dict[str, str], folder: Path, answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """One connection over TLS: its request is stored, the response arrives in two parts."""
    made, _ = x509.issue(authority, ("localhost",), (), time.time())
    (folder / "crt").write_text(made["tls.crt"])
    (folder / "key").write_text(made["tls.key"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "crt", folder / "key")
    asked: list[bytes] = []

    def serve() -> None:
        accepted, _ = listener.accept()
        try:
            with context.wrap_socket(accepted, server_side=True) as tls:
                asked.append(tls.recv(4096))
                tls.sendall(answer[:20])
                tls.sendall(answer[20:])
        except OSError:
            accepted.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"localhost:{listener.getsockname()[1]}", asked
        finally:
            thread.join()


def host(authority: dict[str, str], folder: Path) -> RealHost:
    (folder / "ca").write_text(authority["ca.crt"])
    return RealHost(folder / "ca")


def test_a_websocket_over_verified_tls(authority: dict[str, str], tmp_path: Path) -> None:
    with serving(authority, tmp_path, UPGRADED) as (there, asked):
        assert host(authority, tmp_path).websocket(f"wss://{there}/?token=abc") == b"RFB 003.008\n"
    assert asked[0].startswith(b"GET /?token=abc HTTP/1.1\r\n")
    assert b"Origin: https://localhost" in asked[0]


def test_a_failed_handshake_is_reported_without_the_token(authority: dict[str, str], tmp_path: Path) -> None:
    forbidden = b"HTTP/1.1 403 Forbidden\r\n\r\n"
    told = pytest.raises(Failed, match=r"no WebSocket handshake: HTTP/1\.1 403")
    with serving(authority, tmp_path, forbidden) as (there, _), told as raised:
        host(authority, tmp_path).websocket(f"wss://{there}/?token=abc")
    assert "abc" not in str(raised.value)


def test_a_page_of_another_authority_is_refused(authority: dict[str, str], tmp_path: Path) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with serving(authority, tmp_path, page) as (there, _):
        assert host(authority, tmp_path).page(f"https://{there}/vnc.html?a=b") == 200
    other = x509.authority("other", time.time())
    with serving(authority, tmp_path, page) as (there, _), pytest.raises(Failed, match="CERTIFICATE_VERIFY_FAILED"):
        host(other, tmp_path).page(f"https://{there}/")


class Here(Access):
    """Its endpoints are on localhost, without TLS."""

    def host(self, name: str) -> str:
        paths = {"keystone": "identity", "nova": "compute", "neutron": "network", "glance": "image"}
        return f"{self.domain}/{paths[name]}" if name in paths else "http://127.0.0.1:1"


async def test_all_endpoints_are_queried_concurrently(authority: dict[str, str]) -> None:
    cloud = HttpCloud()
    cloud.put("agents", {"binary": "neutron-l3-agent", "host": "node1", "alive": False, "admin_state_up": True})
    cloud.put("os-services", {"binary": "nova-compute", "host": "node1", "state": "up", "status": "enabled"})
    services = frozenset({"identity", "image", "compute", "networking", "dashboard"})
    try:
        live = await look(Here(cloud.url, AUTH, "RegionOne", authority["ca.crt"], services))
    finally:
        cloud.close()
    assert [each.service for each in live.endpoints] == ["keystone", "glance", "neutron", "nova", "horizon"]
    assert not live.endpoints[0].problem
    assert live.endpoints[0].milliseconds > 0
    assert "onnect" in live.endpoints[-1].problem
    assert {(each.name, each.up) for each in live.agents} == {("nova-compute", True), ("neutron-l3-agent", False)}
    assert live.problem == ""


def test_lines_of_status() -> None:
    agents = (
        Agent("nova-compute", "node1", True),
        Agent("neutron-l3-agent", "node1", False),
        Agent("nova-compute", "node2", True, enabled=False),
    )
    endpoints = (
        Endpoint("nova", "https://nova.x/", 12),
        Endpoint("glance", "https://glance.x/", 0, "no answer in time"),
    )
    text = [line for node in nodes(Live(endpoints, agents)) for line in lines(node)]
    assert text == [
        "✗ Public endpoints",
        "├─ ✓ https://nova.x/  (12 ms)",
        "└─ ✗ https://glance.x/: no answer in time",
        "✗ Agents and compute services",
        "├─ ✗ node1: nova-compute",
        "│  └─ ✗ neutron-l3-agent: does not report",
        "└─ ✗ node2",
        "   └─ ✗ nova-compute: is disabled",
    ]
    unknown = nodes(Live(problem="HTTP 401 from keystone.x"))[-1]
    assert unknown.message == "HTTP 401 from keystone.x"
