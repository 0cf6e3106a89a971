"""The ingress as a program, with the rights of its chart: Kubernetes' own API server, real connections, real pods."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import socket
import ssl
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.ingress.world import World, free_ports, ingress, pod, readable, running, service

DOMAIN = "it.just.works"
KEYSTONE = f"keystone.{DOMAIN}"
MEMORY = 60  # MiB
LIMIT = 230  # MiB; that of the pod is 256


@pytest.fixture(scope="module")
def world(kubeconfig: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An ingress with one host that works, keystone."""
    folder = tmp_path_factory.mktemp("ingress")
    with pod() as port, running(Path(kubeconfig), f"ingress-{uuid.uuid4().hex[:8]}", folder) as world:
        world.certificate("openstack-public-tls", f"*.{DOMAIN}")
        world.apply(*service("keystone-api", port=port), ingress(KEYSTONE, "keystone-api"))
        world.until(world.says(KEYSTONE, 200))
        yield world


def ready(world: World) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{world.health}/readyz", timeout=5) as answer:
        return int(answer.status)


def refused(world: World) -> bool:
    """Whether the port is closed. Without TLS: Python leaves a socket open that is reset just before its handshake."""
    try:
        socket.create_connection(("127.0.0.1", world.https), 5).close()
    except ConnectionError:
        return True
    return False


def test_a_pod_learns_whom_it_serves_and_clients_cannot_lie_about_it(world: World) -> None:
    lies = {
        "X-Forwarded-Proto": "gopher",
        "X_Forwarded_Host": "evil",
        "X-Forwarded-Prefix": "/x",
        "Forwarded": "for=evil",
    }
    status, _, body = world.get(KEYSTONE, "/v3/a%2Fb?x=1;y", headers={**lies, "X-Auth-Token": "t"})
    seen = json.loads(body)
    assert (status, seen["path"]) == (200, "/v3/a%2Fb?x=1;y")
    headers = seen["headers"]
    assert headers["host"] == headers["x-forwarded-host"] == KEYSTONE
    assert headers["x-forwarded-proto"] == "https"
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-auth-token"] == "t"
    assert not {"x_forwarded_host", "x-forwarded-prefix", "forwarded"} & headers.keys()


def test_plain_http_is_led_to_https(world: World) -> None:
    status, headers, _ = world.request("POST", KEYSTONE, "/v3/auth?x=1", tls=False, body=b"{}")
    assert (status, headers["Location"]) == (308, f"https://{KEYSTONE}:{world.https}/v3/auth?x=1")
    assert world.get(f"other.{DOMAIN}.test", tls=False)[0] == 404


def test_a_name_without_certificate_gets_none_and_a_host_without_rule_is_not_found(world: World) -> None:
    with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
        world.connect("keystone.elsewhere.test")
    answer = world.get(KEYSTONE, "/", headers={"Host": f"nova.{DOMAIN}"})
    assert answer[0] == 404


def test_a_websocket_stays_open_and_carries_both_ways(world: World) -> None:
    with world.connect(KEYSTONE) as sock:
        key = "dGhlIHNhbXBsZSBub25jZQ=="
        lines = [f"Host: {KEYSTONE}", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}"]
        sock.sendall("\r\n".join(["GET /?token=secret HTTP/1.1", *lines, "Sec-WebSocket-Version: 13", "", ""]).encode())
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        answer.close()  # releases its reference to the connection
        assert (answer.status, answer.headers["Sec-WebSocket-Accept"]) == (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        for frame in (b"\x81\x05hello", b"\x82" + bytes(1000)):
            sock.sendall(frame)
            got = b""
            while len(got) < len(frame) and readable(sock):
                got += sock.recv(4096)
            assert got == frame
    world.until(lambda: "status=101" in (world.folder / "ingress.log").read_text())
    assert "secret" not in (world.folder / "ingress.log").read_text()


@pytest.mark.parametrize("expect", [{}, {"Expect": "100-continue"}])
def test_an_upload_passes_through_without_being_kept(world: World, expect: dict[str, str]) -> None:
    piece, count = b"x" * (1 << 20), 128
    whole = hashlib.sha256()
    for _ in range(count):
        whole.update(piece)
    headers = {"Content-Length": str(count << 20), **expect}
    status, _, body = world.request(
        "PUT", KEYSTONE, "/v2/images/1/file", body=(piece for _ in range(count)), headers=headers
    )
    assert (status, json.loads(body)) == (200, {"sha256": whole.hexdigest()})
    assert world.memory() < MEMORY


def test_slow_requests_occupy_no_pod(world: World) -> None:
    """More requests than any pod has workers; a request of another client gets an immediate response."""
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            sock = stack.enter_context(world.connect(KEYSTONE))
            sock.sendall(
                f"PUT /v3/auth/tokens HTTP/1.1\r\nHost: {KEYSTONE}\r\nContent-Length: 100000\r\n\r\n{{".encode()
            )
        begun = time.monotonic()
        assert world.get(KEYSTONE)[0] == 200
        assert time.monotonic() - begun < 1
        log = (world.folder / "ingress.log").read_text()
    assert "/v3/auth/tokens" not in log  # the log has a line when a request ends


def test_connections_take_little_memory(world: World) -> None:
    """Each connection has the headers that need the most memory, and never ends them."""
    lines = b"".join(bytes((97 + i // 676, 97 + i // 26 % 26, 97 + i % 26)) + b":\r\n" for i in range(3000))
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            sock = stack.enter_context(world.connect(KEYSTONE))
            with contextlib.suppress(OSError):  # the ingress closes the oldest connections
                sock.sendall(f"GET / HTTP/1.1\r\nHost: {KEYSTONE}\r\n".encode() + lines)
        assert world.get(KEYSTONE)[0] == 200
    assert world.memory() < LIMIT


def test_an_ingress_is_served_within_three_seconds_until_its_deletion(world: World) -> None:
    name = f"glance.{DOMAIN}"
    world.apply(ingress(name, "keystone-api"))
    assert world.until(world.says(name, 200)) < 3
    world.kubectl("delete", "ingress", "glance")
    assert world.until(lambda: world.get(KEYSTONE, headers={"Host": name})[0] == 404) < 3


def test_paths_are_matched_by_whole_elements_and_the_longest_wins(world: World) -> None:
    host = f"paths.{DOMAIN}"
    made = ingress(host, "keystone-api")
    paths = made["spec"]["rules"][0]["http"]["paths"]
    nowhere = {"service": {"name": "nowhere", "port": {"number": 80}}}
    paths[0]["path"] = "/v2"
    paths.append({"path": "/v2/none", "pathType": "Prefix", "backend": nowhere})
    paths.append({"path": "/v2/none/exact", "pathType": "Exact", "backend": paths[0]["backend"]})
    world.apply(made)
    world.until(world.says(host, 200, "/v2"))
    wanted = {
        "/v2/": 200,
        "/v2/x": 200,
        "/v2.1": 404,
        "/": 404,
        "/v2/none": 503,
        "/v2/none/x": 503,
        "/v2/none/exact": 200,
    }
    assert {path: world.get(host, path)[0] for path in wanted} == wanted


def test_ingresses_of_other_classes_and_secrets_of_other_names_are_ignored(world: World) -> None:
    world.certificate("database", f"db.{DOMAIN}.test")
    world.apply(
        ingress(f"theirs.{DOMAIN}", "keystone-api", ingressClassName="nginx"),
        ingress(f"db.{DOMAIN}.test", "keystone-api", name="db", secret="database"),
        ingress(f"last.{DOMAIN}", "keystone-api"),
    )
    world.until(world.says(f"last.{DOMAIN}", 200))
    assert world.get(KEYSTONE, headers={"Host": f"theirs.{DOMAIN}"})[0] == 404
    with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
        world.connect(f"db.{DOMAIN}.test")
    who = f"--as=system:serviceaccount:{world.namespace}:ingress-controller"
    with pytest.raises(AssertionError, match="cannot get resource"):
        world.kubectl("get", "secret", "database", who)


def test_a_dead_pod_costs_no_request_and_without_a_ready_one_the_answer_is_503(world: World) -> None:
    host = f"placement.{DOMAIN}"
    dead = service("placement-api", port=free_ports(1)[0])
    with pod() as port:
        alive = service("placement-api", port=port)
        world.apply(*dead, alive[1], ingress(host, "placement-api"))
        world.until(world.says(host, 200))
        assert {world.request("PUT", host, "/", body=b"x")[0] for _ in range(10)} == {200}
        world.apply(dead[1], service("placement-api", port=port, ready=False)[1])
        world.until(world.says(host, 502))
    world.kubectl("delete", "endpointslice", dead[1]["metadata"]["name"])
    world.until(world.says(host, 503))


def test_a_renewed_certificate_is_used_at_once_and_a_broken_one_is_not(world: World) -> None:
    def shown() -> str:
        with world.connect(KEYSTONE) as sock:
            return ssl.DER_cert_to_PEM_cert(sock.getpeercert(binary_form=True) or b"")

    before = shown()
    after = world.certificate("openstack-public-tls", f"*.{DOMAIN}")
    assert world.until(lambda: shown() == after) < 3
    assert before != after


def test_it_ends_on_sigterm_after_the_current_request(world: World) -> None:
    assert ready(world) == 200
    with world.connect(KEYSTONE) as sock:
        asked = f"PUT / HTTP/1.1\r\nHost: {KEYSTONE}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        sock.sendall(asked.encode())
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        world.process.terminate()
        world.until(lambda: refused(world))
        sock.sendall(b"42")
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        assert (answer.status, json.loads(answer.read())) == (200, {"sha256": hashlib.sha256(b"42").hexdigest()})
        answer.close()
    assert world.process.wait(10) == 0
