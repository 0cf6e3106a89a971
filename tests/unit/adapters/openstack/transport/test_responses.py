"""Responses from an address that a tenant names: bounded, not repeated, and no redirect to another host."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml
from keystoneauth1 import exceptions
from requests import RequestException, Response

from stackwright.adapters.openstack.transport import project_connection, responses
from stackwright.adapters.openstack.transport.login import Login, connection
from stackwright.adapters.openstack.transport.project_connection import ProjectConnection
from stackwright.adapters.openstack.transport.responses import LARGEST, VALUES, ResponseRefused, describe_error
from stackwright.adapters.openstack.transport.send import REQUEST_ID, problem_of
from stackwright.adapters.openstack.transport.shapes import json_of
from stackwright.adapters.threads import LibraryFailed
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.runtime.webhook.review import MEMORY
from support.paths import ROOT

# openstacksdk warns about its optional imports.
pytestmark = pytest.mark.filterwarnings("ignore:Support for InfluxDB")
HIDDEN = "INTERNAL-BODY"
Answer = tuple[int, dict[str, str], bytes]


class Web:
    """A server that a tenant has; `answers` by path, else `otherwise`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.answers: dict[str, Answer] = {}
        self.otherwise: Answer = (404, {}, b"")
        self.drips: tuple[bytes, bytes] | None = None
        """Instead of any answer: how it begins, and what then follows again and again."""
        self.clients: list[Any] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.asked.append((str(self.headers["Host"]), self.path))
                web.clients.append(self.client_address)
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if web.drips:
                    self._drip(*web.drips)
                    return
                status, headers, body = web.answers.get(self.path, web.otherwise)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def _drip(self, begin: bytes, bit: bytes) -> None:
                self.close_connection = True
                with suppress(OSError):  # the client has gone
                    self.wfile.write(begin)
                    for _ in range(300):
                        self.wfile.write(bit)
                        time.sleep(0.02)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def login(self) -> Login:
        auth = {"auth_url": f"http://127.0.0.1:{self.port}/v3", "username": "u", "password": "pw-x"}
        names = {"project_name": "p", "user_domain_name": "d", "project_domain_name": "d"}
        return Login("d", {"auth": {**auth, **names}}, "")


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    yield made
    made.close()


def session_of(web: Web, files: ExitStack) -> Any:
    """The session of a connection, kept until `files` are closed: the garbage collector ends its sessions."""
    made = connection(web.login, files)
    files.callback(lambda: made)
    return made.session


async def asked(web: Web) -> TransientCloudError:
    project = ProjectConnection(web.login)
    try:
        with pytest.raises(TransientCloudError) as raised:
            async with asyncio.timeout(15):
                await project.do("compute", lambda made: made.authorize())
    finally:
        project.close()
    return raised.value


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "identity"])
def test_a_response_is_read_only_up_to_the_limit(web: Web, encoding: str) -> None:
    body = b" " * (LARGEST + 1)
    for _ in range(encoding.count("gzip")):
        body = gzip.compress(body)
    web.otherwise = (200, {"Content-Encoding": encoding}, body)
    with ExitStack() as files, pytest.raises(exceptions.ConnectionError) as raised:
        session_of(web, files).get(f"http://127.0.0.1:{web.port}/", authenticated=False)
    assert "4 MiB" in describe_error(raised.value, "compute")


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_the_number_of_values_in_a_response_is_bounded_by_memory(web: Web, status: int, encoding: str) -> None:
    """Discovery decodes an answer, and so do the libraries of an error, before anything of ours sees it."""
    body = f'{{"x":[{"{},".join([""] * (VALUES // 2 + 2))}0]}}'.encode(encoding)
    web.otherwise = (status, {"Content-Encoding": "gzip", "Content-Type": "application/json"}, gzip.compress(body))
    assert f"{VALUES} values" in str(await asked(web))


@pytest.mark.parametrize(
    "body",
    [
        '{"a": "\U0001f600' + "x" * (LARGEST - 100) + '"}',
        f'{{"a": [{"{},".join([""] * (VALUES // 2 - 5))}0], "b": "\U0001f600{"x" * (LARGEST - 2 * VALUES)}"}}',
    ],
    ids=["text", "values"],
)
def test_many_concurrent_responses_fit_in_the_operators_memory(web: Web, body: str) -> None:
    """One character of four bytes makes Python use four bytes for each: eight responses exhausted the operator's
    memory.
    """
    chart = yaml.safe_load((ROOT / "charts/stackwright/values.yaml").read_text())
    limit = int(chart["pod"]["resources"]["operator"]["limits"]["memory"].removesuffix("Mi")) << 20
    web.otherwise = (200, {"Content-Encoding": "gzip"}, gzip.compress(body.encode()))
    with ExitStack() as files:
        session = session_of(web, files)
        tracemalloc.start()
        try:
            assert json_of(session.get(f"http://127.0.0.1:{web.port}/", authenticated=False))
            assert 16 * tracemalloc.get_traced_memory()[1] < limit - MEMORY, "without the process of admission"
        finally:
            tracemalloc.stop()


LIST = '{"a": ["ä", "b"]}'


@pytest.mark.parametrize(
    ("charset", "body"),
    [("cp037", LIST.encode("cp037")), ("utf-7", b'{"a": +AFs-1+ACw-2+AF0-}'), ("utf-16", LIST.encode("utf-16"))],
    ids=["cp037", "utf-7", "utf-16"],
)
def test_json_is_read_in_the_encoding_in_which_its_values_are_counted(web: Web, charset: str, body: bytes) -> None:
    """In cp037 and UTF-7 brackets and commas are other bytes, so of 2.6 million values none was counted."""
    headers = {"Content-Type": f"application/json; charset={charset}"}
    web.answers = {"/own": (200, headers, body), "/utf-8": (200, headers, LIST.encode())}
    with ExitStack() as files:
        session = session_of(web, files)
        own, utf8 = (session.get(f"http://127.0.0.1:{web.port}{path}", authenticated=False) for path in web.answers)
    assert json_of(utf8) == json.loads(LIST)
    with pytest.raises((LibraryFailed, RequestException)):
        json_of(own)


def test_a_response_of_the_usual_size_is_read_unchanged(web: Web) -> None:
    values = VALUES - 10
    body = b"[" + b'"%s",' % (b"x" * (LARGEST // values - 4)) * values + b"1]"
    web.otherwise = (200, {"Content-Encoding": "gzip", "Content-Type": "application/json"}, gzip.compress(body))
    with ExitStack() as files:
        answer = session_of(web, files).get(f"http://127.0.0.1:{web.port}/", authenticated=False)
    assert answer.content == body
    assert len(answer.json()) == values + 1


@pytest.mark.parametrize(
    ("begin", "bit"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
    ids=["interim", "headers", "body", "chunks"],
)
def test_a_slow_response_is_aborted(web: Web, monkeypatch: pytest.MonkeyPatch, begin: bytes, bit: bytes) -> None:
    monkeypatch.setattr(responses, "RESPONSE_SECONDS", 0.3)
    web.drips = begin, bit
    with ExitStack() as files, pytest.raises(exceptions.ConnectTimeout) as raised:
        session_of(web, files).get(f"http://127.0.0.1:{web.port}/", authenticated=False)
    assert describe_error(raised.value, "compute") == "no response in time"


def test_each_response_of_a_connection_has_the_full_timeout(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "RESPONSE_SECONDS", 0.3)
    web.otherwise = (200, {}, b"yes")
    with ExitStack() as files:
        session = session_of(web, files)
        for _ in range(2):
            assert session.get(f"http://127.0.0.1:{web.port}/", authenticated=False).text == "yes"
            time.sleep(0.4)
    assert len(web.clients) == 2
    assert len(set(web.clients)) == 1


async def test_a_keystone_with_authenticated_discovery_is_asked_for_a_token(web: Web) -> None:
    web.answers = {"/v3": (401, {}, b"")}
    assert str(await asked(web)).endswith("HTTP 404")
    assert [path for _, path in web.asked] == ["/v3", "/v3/auth/tokens"]


@pytest.mark.parametrize("status", [200, 300, 401, 403, 503])
@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
@pytest.mark.parametrize(
    "text", [HIDDEN, f'{{"error": {{"message": "{HIDDEN}", "title": "{HIDDEN}"}}}}', f'{{"x": "{HIDDEN}"}}']
)
async def test_errors_contain_no_text_of_a_response(web: Web, status: int, kind: str, text: str) -> None:
    web.otherwise = (status, {"Content-Type": kind}, text.encode())
    found = str(await asked(web))
    assert HIDDEN not in found
    assert found.startswith(f"http://127.0.0.1:{web.port}/v3: ")


async def test_errors_contain_no_text_that_is_not_http(web: Web) -> None:
    error = exceptions.ConnectFailure(f"('Connection aborted.', BadStatusLine('{HIDDEN}'))")
    assert describe_error(error, "compute") == "no connection"


# urllib takes what follows the @ for the host, requests does not.
OTHER_READING = "http://localhost:{port}\\@127.0.0.1/"


@pytest.mark.parametrize(
    ("status", "location"),
    [
        *((status, "http://localhost:{port}/internal") for status in (300, 301, 302, 303, 304, 305, 307, 308, 399)),
        *((307, each) for each in (OTHER_READING, "http://127.0.0.1@localhost:{port}/", "//localhost/", "http://[::1")),
    ],
)
async def test_no_redirect_to_another_host_is_followed(web: Web, status: int, location: str) -> None:
    web.otherwise = (status, {"Location": location.format(port=web.port)}, b"")
    found = str(await asked(web))
    assert "redirects to another host" in found
    assert web.asked
    assert all(host.startswith("127.0.0.1") for host, _ in web.asked)


def test_a_redirect_on_the_same_host_is_followed(web: Web) -> None:
    web.answers = {"/v2": (302, {"Location": f"http://127.0.0.1:{web.port}/v2/"}, b""), "/v2/": (200, {}, b"yes")}
    with ExitStack() as files:
        answer = session_of(web, files).get(f"http://127.0.0.1:{web.port}/v2", authenticated=False)
    assert answer.text == "yes"


async def test_an_abandoned_thread_ends_when_the_connection_is_closed(web: Web) -> None:
    web.otherwise = (200, {}, b"yes")
    project, ends = ProjectConnection(web.login), threading.Event()

    def asks_forever(made: Any) -> None:
        try:
            while True:
                made.session.get(f"http://127.0.0.1:{web.port}/", authenticated=False)
        finally:
            ends.set()

    waits = asyncio.create_task(project.do("compute", asks_forever))
    while not web.asked:
        await asyncio.sleep(0.01)
    waits.cancel()
    project.close()
    assert await asyncio.to_thread(ends.wait, 10)


async def test_a_connection_opened_during_the_close_sends_nothing(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    project = ProjectConnection(web.login)

    def closing(*args: Any) -> Any:
        project.close()
        return connection(*args)

    monkeypatch.setattr(project_connection, "connection", closing)
    with pytest.raises(TransientCloudError, match="the connection is closed"):
        await project.do("compute", lambda made: made.authorize())
    assert not web.asked


def test_a_catalog_with_a_foreign_url_causes_no_read() -> None:
    body = {"kind": "Status", "message": HIDDEN}
    assert str(problem_of(refusal(json.dumps(body).encode()))) == "HTTP 403"
    assert str(problem_of(refusal(json.dumps(body).encode(), own=True))) == f"HTTP 403: {HIDDEN}"


def refusal(body: bytes, *, own: bool = False) -> Response:
    made = Response()
    made.status_code, made._content = 403, body
    made.headers.update({REQUEST_ID: "req-1"} if own else {})
    return made


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": [' + b'{"": 0}, ' * 100_000 + b"{}]}",
        b'{"message": "' + b"\xc4\x81 " * 1_000_000 + b'"}',
        b"\xff " * 1_000_000,
    ],
    ids=["values", "words", "no text"],
)  # fmt: skip
def test_nothing_is_read_of_an_error_that_is_longer_than_any(body: bytes) -> None:
    """An error of 24 KiB on the wire took 527 MiB, either as values or as text."""
    refused = refusal(body, own=True)
    tracemalloc.start()
    try:
        assert str(problem_of(refused)) == "HTTP 403"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (exceptions.ConnectFailure("… [Errno 111] Connection refused"), "no connection: Connection refused"),
        (exceptions.ConnectTimeout("x"), "no response in time"),
        (exceptions.SSLError("… self-signed certificate in x"), "TLS fails: self-signed certificate"),
        (exceptions.Unauthorized("x"), "HTTP 401"),
        (exceptions.EndpointNotFound("x"), "the catalog has no endpoint of service compute"),
        (exceptions.UnknownConnectionError("x", ResponseRefused("ours")), "ours"),
        (exceptions.DiscoveryFailure("x"), "not a response of OpenStack (DiscoveryFailure)"),
    ],
)  # fmt: skip
def test_the_cause_is_described_in_our_own_words(error: Exception, text: str) -> None:
    assert describe_error(error, "compute") == text
