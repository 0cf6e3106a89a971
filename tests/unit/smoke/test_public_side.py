"""The view of this machine on a cloud over TLS, against a server with a certificate of our own CA."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.openstack.deployed.public_api import Endpoint, Live, check_endpoints
from stackwright.cli.ui.public import nodes
from stackwright.cli.ui.tree import lines
from stackwright.core.openstack.deployed.access import Access
from stackwright.core.openstack.deployed.agents import Agent
from stackwright.runtime import x509
from stackwright.smoke.host import RealHost
from stackwright.smoke.ports import Failed
from tests.unit.smoke.http_cloud import Answer, HttpCloud

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
        live = await check_endpoints(Here(cloud.url, AUTH, "RegionOne", authority["ca.crt"], services), limit=60)
    finally:
        cloud.close()
    assert [each.service for each in live.endpoints] == ["keystone", "glance", "neutron", "nova", "horizon"]
    assert not live.endpoints[0].problem
    assert live.endpoints[0].milliseconds > 0
    assert "onnect" in live.endpoints[-1].problem
    assert {(each.name, each.up) for each in live.agents} == {("nova-compute", True), ("neutron-l3-agent", False)}
    assert live.problem == ""


@pytest.mark.parametrize("ca", ["garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "ü"])
async def test_an_authority_that_is_no_certificate_is_told(ca: str, tmp_path: Path) -> None:
    told = "ca.crt of Secret openstack-public-tls is not a certificate in PEM format"
    live = await check_endpoints(Here("http://127.0.0.1:1", AUTH, "RegionOne", ca, frozenset({"identity"})))
    assert live == Live(problem=told)
    assert [(node.title, node.message) for node in nodes(live)] == [("Public endpoints", told)]
    (tmp_path / "ca").write_text(ca)
    with pytest.raises(Failed, match="is not a certificate"):  # as for `smoke` and the virtual machine of `up`
        RealHost(tmp_path / "ca")


class Odd(HttpCloud):
    """`said`: what it returns instead of the answers to these paths."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__()
        self.said = said

    def answer(self, method: str, path: str, query: dict[str, str], body: Any, token: str) -> Answer:
        return (200, self.said[path]) if path in self.said else super().answer(method, path, query, body, token)


TOKENS, COMPUTES, NETWORKS = "/identity/v3/auth/tokens", "/compute/v2.1/os-services", "/network/v2.0/agents"
NO_AGENTS = "127.0.0.1 returned no list of agents"
NO_SERVICES = "127.0.0.1 returned no list of services"


@pytest.mark.parametrize(
    ("path", "said", "told"),
    [
        (TOKENS, {}, "127.0.0.1 returned no token"),
        *((COMPUTES, said, NO_SERVICES) for said in ({}, [1], 5, None, {"services": None}, {"services": [7]})),
        *((NETWORKS, said, NO_AGENTS) for said in ({"agents": {"a": 1}}, {"agents": [{"binary": "x"}]})),
    ],
)
async def test_an_answer_that_is_none_of_openstack_is_told(
    authority: dict[str, str], path: str, said: Any, told: str
) -> None:
    cloud = Odd({path: said})
    services = frozenset({"identity", "compute", "networking"})
    try:
        live = await check_endpoints(Here(cloud.url, AUTH, "RegionOne", authority["ca.crt"], services), limit=60)
    finally:
        cloud.close()
    assert (live.agents, live.problem) == ((), told)
    assert not live.endpoints[0].problem, "what the endpoints answer is shown all the same"


async def test_names_that_are_no_texts_are_shown_as_texts(authority: dict[str, str]) -> None:
    known = {"state": "up", "status": "enabled"}
    cloud = Odd({COMPUTES: {"services": [{"binary": None, "host": 5, **known}, {"binary": "b", "host": "a", **known}]}})
    try:
        live = await check_endpoints(
            Here(cloud.url, AUTH, "RegionOne", authority["ca.crt"], frozenset({"compute"})), limit=60
        )
    finally:
        cloud.close()
    assert live.problem == ""
    assert [node.title for node in nodes(live)[-1].children] == ["5: None", "a: b"]


async def test_a_slow_response_is_aborted(authority: dict[str, str]) -> None:
    ended = threading.Event()

    def drip(listener: socket.socket) -> None:
        accepted, _ = listener.accept()
        accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not ended.wait(0.05):
            with suppress(OSError):
                accepted.sendall(b" ")
        accepted.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        there = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            async with asyncio.timeout(60):
                access = Here(there, AUTH, "RegionOne", authority["ca.crt"], frozenset({"identity"}))
                live = await check_endpoints(access, limit=0.3)
        finally:
            ended.set()
            thread.join()
    assert [each.problem for each in live.endpoints] == ["no response in time"]


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
