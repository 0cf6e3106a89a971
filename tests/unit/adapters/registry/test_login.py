"""Logins: Basic, Bearer, identity tokens; to whom credentials are sent, and that no message contains them."""

from __future__ import annotations

import gzip
import json
import ssl
from urllib.parse import parse_qs, quote

import httpx2
import pytest

from stackwright.adapters.registry import challenge
from stackwright.adapters.registry.challenge import Challenge
from stackwright.adapters.registry.credentials import Credentials
from stackwright.adapters.registry.errors import RegistryError
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from support.registry.memory import AUTH, HOST, PASSWORD, USER, MemoryRegistry, error

NAMES = ["sw/nova"]
PATH = "sw/nova/manifests/1"
LOGIN = Credentials("auth.json", USER, PASSWORD)


def session(registry: MemoryRegistry, login: Credentials | None = LOGIN, *, plain_http: bool = False) -> Session:
    return Session(
        prefix(f"{HOST}/sw"), login, transport=registry.transport(), sleep=lambda _: None, plain_http=plain_http
    )


def ask(registry: MemoryRegistry, login: Credentials | None = LOGIN, names: list[str] = NAMES) -> int:
    return session(registry, login).request("HEAD", PATH, names, expected=(200, 404)).status


@pytest.mark.parametrize("login", ["basic", "bearer"])
def test_a_login_is_learnt_once(login: str) -> None:
    registry = MemoryRegistry(login)
    connected = session(registry)
    for _ in range(3):
        assert connected.request("HEAD", PATH, NAMES, expected=(404,)).status == 404
    refused = 1
    assert len([request for request in registry.requests if request.url.host == HOST]) == 3 + refused
    assert len(registry.tokens) == (login == "bearer")


def test_a_token_has_our_scopes_only_whatever_the_challenge_asks() -> None:
    registry = MemoryRegistry("bearer")
    ask(registry, names=["sw/nova", "sw/base"])
    assert list(registry.tokens.values()) == [["repository:sw/nova:pull,push", "repository:sw/base:pull"]]


def test_an_expired_token_is_renewed() -> None:
    registry = MemoryRegistry("bearer")
    connected = session(registry)
    for _ in range(2):
        connected.request("HEAD", PATH, NAMES, expected=(404,))
        registry.tokens.clear()
    assert connected.request("HEAD", PATH, NAMES, expected=(404,)).status == 404


@pytest.mark.parametrize(
    ("seconds", "asked"),
    [("300", 2), ("300.5", 2), ("1e400", 1), ("1" + "0" * 400, 1), ("0", 1), ("-1", 1), ('"300"', 1), ("null", 1)],
)
def test_a_token_that_expires_is_renewed_before_a_request(seconds: str, asked: int) -> None:
    """A registry refuses it after the body of an upload only."""
    registry, now = MemoryRegistry("bearer"), [1000.0]

    def issue(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.url.host != AUTH:
            return None
        token = registry._token(request).json()["token"]
        return httpx2.Response(200, content=f'{{"token": "{token}", "expires_in": {seconds}}}'.encode())

    registry.hook = issue
    connected = Session(prefix(HOST), LOGIN, transport=registry.transport(), clock=lambda: now[0])
    connected.request("HEAD", PATH, NAMES, expected=(404,))
    now[0] += 224
    connected.request("HEAD", PATH, NAMES, expected=(404,))
    assert len(registry.tokens) == 1
    now[0] += 2
    registry.requests.clear()
    connected.request("HEAD", PATH, NAMES, expected=(404,))
    assert len(registry.tokens) == asked
    assert [request.url.host for request in registry.requests] == [AUTH, HOST][-asked:]


def test_an_identity_token_is_exchanged_in_a_body() -> None:
    registry = MemoryRegistry("bearer")
    forms: list[dict[str, list[str]]] = []

    def issue(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.url.host != AUTH:
            return None
        assert (request.method, request.url.query, "authorization" in request.headers) == ("POST", b"", False)
        forms.append(parse_qs(body.decode()))
        registry.tokens["given"] = ["repository:sw/nova:pull,push"]
        return httpx2.Response(200, json={"access_token": "given"})

    registry.hook = issue
    assert ask(registry, Credentials("auth.json", identity_token="identity")) == 404
    assert forms[0]["grant_type"] == ["refresh_token"]
    assert forms[0]["refresh_token"] == ["identity"]
    assert forms[0]["scope"] == ["repository:sw/nova:pull,push"]


@pytest.mark.parametrize("login", ["basic", "bearer"])
def test_wrong_and_missing_credentials_are_told_apart(login: str) -> None:
    with pytest.raises(RegistryError, match=r"requires a login, and no file has credentials .* `podman login registry"):
        ask(MemoryRegistry(login), None)
    with pytest.raises(RegistryError, match=r"refused the credentials of auth.json: .* `docker login registry") as told:
        ask(MemoryRegistry(login), Credentials("auth.json", USER, "wrong horse"))
    assert "wrong horse" not in str(told.value)


def test_an_identity_token_is_no_login_for_basic() -> None:
    with pytest.raises(RegistryError, match="refused the credentials"):
        ask(MemoryRegistry("basic"), Credentials("auth.json", identity_token="identity"))


def answering(location: str, status: int = 307) -> MemoryRegistry:
    """A registry with a login that redirects everything after it."""
    registry = MemoryRegistry("basic")

    def redirect(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.url.host != HOST:
            return httpx2.Response(200)
        if "authorization" not in request.headers:
            return None
        return httpx2.Response(status, headers={"Location": location})

    registry.hook = redirect
    return registry


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_host_loses_the_credentials(status: int) -> None:
    registry = answering("https://storage.test/blob?signature=1", status)
    assert ask(registry) == 200
    last = registry.requests[-1]
    assert (last.url.host, last.headers.get("authorization")) == ("storage.test", None)


@pytest.mark.parametrize("place", [f"https://{HOST}:8443/x", f"https://www.{HOST}/x", f"https://{HOST}.evil.test/x"])
def test_another_origin_is_another_host(place: str) -> None:
    registry = MemoryRegistry("basic")

    def redirect(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if request.url.path == "/x":
            return httpx2.Response(200)
        return httpx2.Response(307, headers={"Location": place}) if "authorization" in request.headers else None

    registry.hook = redirect
    ask(registry)
    assert "authorization" not in registry.requests[-1].headers


@pytest.mark.parametrize(
    ("location", "part"),
    [
        (f"http://{HOST}/v2/", "is not https"),
        ("http://storage.test/", "is not https"),
        ("file:///etc/passwd", "not valid|not https"),
        (f"https://user:password@{HOST}/", "not valid"),
        ("https://user@storage.test/", "not valid"),
        ("https://[/", "not valid"),
        ("https://storage.test:99999/", "not valid"),
        ("https://storage..test/", "not valid"),
        ("https://" + "a" * 9000, "not valid"),
        ("", "not valid"),
        (f"https://{HOST}/v2/again", "too many redirects"),
    ],
)
def test_an_address_that_must_not_be_used_is_refused(location: str, part: str) -> None:
    with pytest.raises(RegistryError, match=part):
        ask(answering(location))


def test_a_name_in_another_script_is_the_same_origin() -> None:
    registry = MemoryRegistry("basic")

    def redirect(request: httpx2.Request, body: bytes) -> httpx2.Response | None:
        if "authorization" not in request.headers:
            return None
        place = str(request.url.copy_with(path="/x"))
        return httpx2.Response(200) if request.url.path == "/x" else httpx2.Response(307, headers={"Location": place})

    registry.hook = redirect
    connected = Session(prefix("xn--bcher-kva.test/sw"), LOGIN, transport=registry.transport())
    assert connected.request("HEAD", PATH, NAMES).status == 200
    assert "authorization" in registry.requests[-1].headers


def test_cookies_are_not_sent_back() -> None:
    """With a cookie of Harbor, it asks writes for a CSRF token."""
    registry = MemoryRegistry()
    registry.hook = lambda request, body: httpx2.Response(404, headers={"Set-Cookie": "sid=1; Path=/"})
    connected = session(registry)
    for _ in range(2):
        connected.request("HEAD", PATH, NAMES, expected=(404,))
    assert not any("cookie" in request.headers for request in registry.requests)


@pytest.mark.parametrize("proxy", ["socks5://user:secret@proxy.test:1080", "gopher://user:secret@proxy.test"])
def test_a_proxy_that_is_not_supported_is_explained(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(RegistryError, match=r"proxy in HTTPS_PROXY, .* cannot be used") as told:
        Session(prefix(HOST))
    assert "secret" not in str(told.value)


def test_a_write_is_not_redirected_as_a_read() -> None:
    registry = answering("https://storage.test/x", 302)
    with pytest.raises(RegistryError, match="status 302"):
        session(registry).request("PUT", PATH, NAMES, content=b"x")


@pytest.mark.parametrize("realm", ["http://auth.test/token", "https://u:p@auth.test/", "token", "https://[", ""])
def test_a_token_server_must_have_a_safe_address(realm: str) -> None:
    registry = MemoryRegistry()
    header = {"WWW-Authenticate": f'Bearer realm="{realm}"'}
    registry.hook = lambda request, body: httpx2.Response(401, headers=header)
    with pytest.raises(RegistryError, match=r"token server|unknown kind of login"):
        ask(registry)
    assert {request.url.host for request in registry.requests} == {HOST}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"token": 7}', b'{"token": ""}', b'{"token": "a\\nb"}', b'{"token": "\\u00e9"}']
)
def test_a_token_server_must_answer_with_a_token(body: bytes) -> None:
    registry = MemoryRegistry("bearer")
    registry.hook = lambda request, _: httpx2.Response(200, content=body) if request.url.host == AUTH else None
    with pytest.raises(RegistryError, match=rf"{AUTH} answered with no valid token"):
        ask(registry)


def test_an_endless_answer_is_cut() -> None:
    registry = MemoryRegistry()
    registry.hook = lambda request, body: httpx2.Response(404, content=b"x" * (2 << 20))
    with pytest.raises(RegistryError, match="more than it may"):
        session(registry).request("GET", PATH, NAMES)


def test_a_compressed_answer_is_not_unpacked() -> None:
    registry = MemoryRegistry()
    bomb = gzip.compress(bytes(8 << 20))
    given = httpx2.Response(404, headers={"Content-Encoding": "gzip"}, stream=httpx2.ByteStream(bomb))
    registry.hook = lambda request, body: given
    with pytest.raises(RegistryError, match="a compressed answer"):
        session(registry).request("GET", PATH, NAMES)
    assert not given.is_stream_consumed


@pytest.mark.parametrize("echo", [PASSWORD, quote(PASSWORD), LOGIN.basic, f"https://u:{quote(PASSWORD)}@proxy.test"])
@pytest.mark.parametrize("status", [400, 403, 404, 413, 418])
def test_a_registry_that_repeats_the_credentials_does_not_bring_them_into_a_message(status: int, echo: str) -> None:
    registry = MemoryRegistry("basic")
    told = error(status, "DENIED", f"no right for {echo} here")
    registry.hook = lambda request, body: told if "authorization" in request.headers else None
    with pytest.raises(RegistryError) as raised:
        ask(registry) if status != 404 else session(registry).request("GET", PATH, NAMES)
    assert "DENIED: no right for" in str(raised.value)
    assert echo not in str(raised.value)


def test_a_token_is_not_brought_into_a_message_either() -> None:
    registry = MemoryRegistry("bearer")
    told = error(403, "DENIED", "no right for token-1")
    registry.hook = lambda request, body: told if "Bearer" in request.headers.get("authorization", "") else None
    with pytest.raises(RegistryError, match=r"DENIED: no right for \*\*\*"):
        ask(registry)


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (error(403, "DENIED", "quota of the project"), r"denies access to sw/nova \(DENIED: quota of the project\)"),
        (httpx2.Response(403), r"denies access to sw/nova\."),
        (
            error(404, "NAME_UNKNOWN", "project sw not found"),
            r"refused the name sw/nova \(NAME_UNKNOWN: project sw not",
        ),
        (error(400, "NAME_INVALID", "invalid name"), "refused the name sw/nova"),
        (
            httpx2.Response(404, content=b"<html>"),
            r"refused the name sw/nova \(status 404\)\. It may not be a registry",
        ),
        (httpx2.Response(413), "refuses requests of this size"),
        (error(429, "TOOMANYREQUESTS", "slow down"), r"with status 429 \(TOOMANYREQUESTS: slow down\)"),
        (httpx2.Response(500), "with status 500"),
        (httpx2.Response(401), "unknown kind of login"),
        (httpx2.Response(200, json={"errors": 7}), "x"),
        (httpx2.Response(418, json={"errors": [{"code": 7, "message": ["x"]}]}), r"with status 418\."),
        (httpx2.Response(418, json=["errors"]), r"with status 418\."),
    ],
)
def test_a_refusal_is_explained(answer: httpx2.Response, part: str) -> None:
    registry = MemoryRegistry()
    registry.hook = lambda request, body: answer
    if answer.status_code == 200:
        assert session(registry).request("GET", PATH, NAMES).status == 200
        return
    with pytest.raises(RegistryError, match=part):
        session(registry).request("GET", PATH, NAMES)


def test_a_long_text_of_a_registry_is_shortened_and_in_one_line() -> None:
    registry = MemoryRegistry()
    registry.hook = lambda request, body: error(418, "CODE", "a\nb\t" + "x" * 9000)
    with pytest.raises(RegistryError, match=r"CODE: a b x{150,200}…") as raised:
        session(registry).request("GET", PATH, NAMES)
    assert len(str(raised.value)) < 400


def test_a_text_of_a_registry_does_not_control_the_terminal() -> None:
    registry = MemoryRegistry()
    registry.hook = lambda request, body: error(418, "CODE", "a\x1b[2Jb\x07\u202ec")
    with pytest.raises(RegistryError) as raised:
        session(registry).request("GET", PATH, NAMES)
    assert str(raised.value).isprintable()


def untrusted() -> ssl.SSLCertVerificationError:
    found = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]")
    found.verify_message = "unable to get local issuer certificate"
    return found


def wrong_version() -> ssl.SSLError:
    found = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER]")
    found.reason = "WRONG_VERSION_NUMBER"
    return found


@pytest.mark.parametrize(
    ("error_", "cause", "part"),
    [
        (
            httpx2.ConnectError("x"),
            ConnectionRefusedError(111, "Connection refused"),
            "unreachable: connection refused",
        ),
        (httpx2.ConnectError("x"), OSError(113, "No route to host"), "unreachable: no route to host"),
        (httpx2.ConnectTimeout("x"), None, "unreachable: it did not answer in time"),
        (httpx2.ProxyError("407 u:p@proxy"), None, r"unreachable: the proxy refused the connection\.$"),
        (httpx2.RemoteProtocolError("x"), None, "the connection was closed"),
        (httpx2.ConnectError("x"), untrusted(), r"certificate of registry.test is not trusted: .*--ca FILE.*certs.d"),
        (httpx2.ConnectError("x"), wrong_version(), "does not speak TLS.*--plain-http"),
    ],
)
def test_a_connection_that_fails_is_explained_at_once(error_: Exception, cause: Exception | None, part: str) -> None:
    registry = MemoryRegistry()

    def fail(request: httpx2.Request, body: bytes) -> None:
        raise error_ from cause

    registry.hook = fail
    with pytest.raises(RegistryError, match=part):
        ask(registry)
    assert len(registry.requests) == 1


def test_a_registry_that_answered_before_is_asked_again() -> None:
    registry = MemoryRegistry()
    pauses: list[float] = []
    connected = Session(prefix(HOST), transport=registry.transport(), sleep=pauses.append)
    connected.request("HEAD", PATH, NAMES, expected=(404,))

    def fail(request: httpx2.Request, body: bytes) -> None:
        raise httpx2.ReadError("cut")

    registry.hook = fail
    with pytest.raises(RegistryError, match="unreachable: the connection was closed"):
        connected.request("HEAD", PATH, NAMES)
    assert pauses == [1, 2, 4]
    answers = iter([httpx2.Response(503), httpx2.Response(429)])
    registry.hook = lambda request, body: next(answers, None)
    assert connected.request("HEAD", PATH, NAMES, expected=(404,)).status == 404


def test_plain_http_is_used_only_if_permitted() -> None:
    registry = MemoryRegistry()
    session(registry, plain_http=True).request("HEAD", PATH, NAMES, expected=(404,))
    assert registry.requests[-1].url.scheme == "http"
    ask(registry)
    assert registry.requests[-1].url.scheme == "https"


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        (['Bearer realm="https://a/t",service="s",scope="x:y:pull,push"'], Challenge("bearer", "https://a/t", "s")),
        (['bearer service=s, realm="https://a/t"'], Challenge("bearer", "https://a/t", "s")),
        (['Basic realm="r"'], Challenge("basic", "r", "")),
        (["Basic"], Challenge("basic", "", "")),
        (["Negotiate", 'Basic realm="r"'], Challenge("basic", "r", "")),
        (['Negotiate, Bearer realm="https://a/t", Basic realm="r"'], Challenge("bearer", "https://a/t", "")),
        (["Bearer"], None),
        (["Digest realm=x"], None),
        ([], None),
        (["x" * 100_000], None),
        (['Bearer realm="' + "a" * 9000 + '"'], None),
    ],
)
def test_challenges(headers: list[str], found: Challenge | None) -> None:
    assert challenge.parse(headers) == found


def test_json_of_any_depth_is_no_crash() -> None:
    registry = MemoryRegistry()
    registry.hook = lambda request, body: httpx2.Response(418, content=json.dumps([]).encode() * 1 + b"[" * 200_000)
    with pytest.raises(RegistryError, match="status 418"):
        session(registry).request("GET", PATH, NAMES)
