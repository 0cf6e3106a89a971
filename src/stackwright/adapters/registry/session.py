"""Requests to one registry: login, redirects, and retries.

Credentials and tokens are sent only to the registry's own origin, and credentials to the token server that it names.
They are not sent to the target of a redirect or upload on another host, or with HTTP instead of HTTPS.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import quote, urlencode

import httpx2

from stackwright.adapters.registry import challenge, errors
from stackwright.adapters.registry.credentials import Credentials
from stackwright.adapters.registry.errors import Denied, RegistryError, Transient
from stackwright.adapters.registry.exchange import LONGEST, Answer, Body, Exchanges
from stackwright.adapters.registry.reference import PORTS, Prefix

ATTEMPTS = 4
_REDIRECTS = 5
_ADDRESS = 8192  # characters
_TOKEN = 64 << 10
_ENDLESS = 1e9  # seconds
_DUE = 0.75  # part of a token's lifetime after which it is renewed
_HOST = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){0,20}|[0-9a-f.:]{2,45}", re.ASCII | re.IGNORECASE)
_TIMEOUT = httpx2.Timeout(15, read=300, write=60)  # seconds; after the last byte, a registry may copy the whole blob
_HEADERS = {"User-Agent": "stackwright", "Accept-Encoding": "identity"}


@dataclass(frozen=True)
class _Token:
    """wanted  the challenge for which it was issued. until  time of its renewal, by the clock of the session"""

    text: str = field(repr=False)
    wanted: challenge.Challenge
    until: float


class Session:
    """The requests of several threads to a registry. writes  whether rights to write are requested"""

    def __init__(
        self,
        prefix: Prefix,
        credentials: Credentials | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        plain_http: bool = False,
        writes: bool = True,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        longest: float = LONGEST,
    ) -> None:
        self.host = prefix.host
        self._base = httpx2.URL(f"{'http' if plain_http else 'https'}://{prefix.api_host}/v2/")
        self._credentials = credentials
        self._writes = writes
        self._schemes = ("http", "https") if plain_http else ("https",)
        self._client = _client(tls, transport)
        self._exchanges = Exchanges(self.host, self._client, longest)
        self._sleep = sleep or self._exchanges.pause
        self._clock = clock
        self._lock = threading.Lock()
        self._tokens: dict[tuple[str, ...], _Token] = {}
        self._basic = False
        self._contacted = False

    def close(self) -> None:
        self._client.close()

    def stop(self) -> None:
        """End the requests of all threads: they raise Stopped."""
        self._exchanges.stop()

    def check_stopped(self) -> None:
        """Raises Stopped after a stop."""
        self._exchanges.check_stopped()

    def pause(self, failures: int, least: float = 0) -> None:
        """Wait before the next attempt: 1, 2, 4 seconds, or longer if the registry requests it."""
        self._sleep(max(2.0 ** (failures - 1), least))

    def request(
        self,
        method: str,
        target: str | httpx2.URL,
        repositories: Iterable[str],
        *,
        headers: Mapping[str, str] | None = None,
        content: Body = b"",
        expected: Iterable[int] = (200,),
        attempts: int = ATTEMPTS,
    ) -> Answer:
        """Send a request, with retries after transient failures, and return an expected response. Raises RegistryError.

        target  a path below /v2/, or an address of an earlier response
        repositories  those that the request uses; it writes to the first one
        """
        url = self._base.join(target)
        names = tuple(repositories)
        for failures in range(1, attempts + 1):
            try:
                answer = self._redirected(method, url, names, dict(headers or {}), content)
                if answer.status in expected:
                    return answer
                raise errors.refused(self.host, names[0], method, answer.status, self._message(answer), answer.headers)
            except Transient as error:
                if failures == attempts:
                    raise
                least = error.pause
            self.pause(failures, least)
        raise AssertionError("unreachable")

    def location(self, answer: Answer) -> httpx2.URL:
        """Return the address in a response. Raises RegistryError for one that must not be used."""
        text = answer.headers.get("location", "")
        try:
            url = answer.url.join(text) if 0 < len(text) <= _ADDRESS else None
        except (httpx2.InvalidURL, ValueError, TypeError):
            url = None
        return self._checked(url, "an address")

    def own(self, answer: Answer, text: str) -> httpx2.URL | None:
        """Return the address in a text of a response, or None if it is not of the registry's own origin."""
        try:
            url = answer.url.join(text)
        except (httpx2.InvalidURL, ValueError, TypeError):
            return None
        return url if self._is_own(url) and not url.userinfo and len(text) <= _ADDRESS else None

    def _checked(self, url: httpx2.URL | None, what: str) -> httpx2.URL:
        if url is None or url.userinfo or not _HOST.fullmatch(url.raw_host.decode()):
            raise errors.invalid(self.host, f"{what} that is not valid")
        if url.port is not None and url.port not in PORTS:
            raise errors.invalid(self.host, f"{what} that is not valid")
        if url.scheme not in self._schemes:
            raise errors.invalid(self.host, f"{what} that is not https")
        return url

    def _redirected(
        self, method: str, url: httpx2.URL, names: tuple[str, ...], headers: dict[str, str], content: Body
    ) -> Answer:
        for _ in range(_REDIRECTS):
            answer = self._logged_in(method, url, names, headers, content)
            same_method = answer.status in (307, 308) or (answer.status in (301, 302) and method in ("GET", "HEAD"))
            if not same_method:
                return answer
            url = self.location(answer)
        raise errors.invalid(self.host, "too many redirects")

    def _logged_in(
        self, method: str, url: httpx2.URL, names: tuple[str, ...], headers: dict[str, str], content: Body
    ) -> Answer:
        if not self._is_own(url):
            return self._send(method, url, headers, content)
        sent = self._authorization(names)
        answer = self._send(method, url, headers | sent, content)
        if answer.status == 401:
            again = self._authorization(names, answer, sent)
            answer = self._send(method, url, headers | again, content)
        if answer.status == 401:
            raise self._no_login(names[0])
        return answer

    def _is_own(self, url: httpx2.URL) -> bool:
        own = self._base
        return (url.scheme, url.raw_host, url.port) == (own.scheme, own.raw_host, own.port)

    def _authorization(
        self, names: tuple[str, ...], refusal: Answer | None = None, sent: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Return the header of a login; after a refusal of the header `sent`, a new one.

        A token is renewed before it expires, because a registry may refuse it only after a long body.
        """
        with self._lock:
            token = self._tokens.get(names)
            if refusal is None and token and self._clock() >= token.until:
                self._tokens[names] = self._token(token.wanted, names)
            known = self._known(names)
            if refusal is None or (known and known != sent):  # another thread has renewed it
                return known
            wanted = challenge.parse(refusal.headers.get_list("www-authenticate"))
            if wanted is None:
                raise errors.invalid(self.host, "a request for an unknown kind of login")
            if wanted.scheme == "basic":
                if sent or self._credentials is None or not self._credentials.username:
                    raise self._no_login(names[0])
                self._basic = True
            else:
                self._tokens[names] = self._token(wanted, names)
            return self._known(names)

    def _known(self, names: tuple[str, ...]) -> dict[str, str]:
        if names in self._tokens:
            return {"Authorization": f"Bearer {self._tokens[names].text}"}
        return {"Authorization": f"Basic {self._credentials.basic}"} if self._basic and self._credentials else {}

    def _token(self, wanted: challenge.Challenge, names: tuple[str, ...]) -> _Token:
        """Request a token for these repositories, with the rights that we need instead of those in the challenge."""
        try:
            realm = self._checked(httpx2.URL(wanted.realm), "an address of a token server")
        except httpx2.InvalidURL:
            raise errors.invalid(self.host, "an address of a token server that is not valid") from None
        first = "pull,push" if self._writes else "pull"
        scopes = [f"repository:{name}:{'pull' if number else first}" for number, name in enumerate(names)]
        service = [("service", wanted.service)] if wanted.service else []
        login, found, asked = self._credentials, None, self._clock()
        if login and login.identity_token:
            form = [*service, ("scope", " ".join(scopes)), ("client_id", "stackwright")]
            form += [("grant_type", "refresh_token"), ("refresh_token", login.identity_token)]
            content = urlencode(form).encode()
            found = self._send("POST", realm, {"Content-Type": "application/x-www-form-urlencoded"}, content)
        else:
            query = [*realm.params.multi_items(), *service, *(("scope", scope) for scope in scopes)]
            header = {"Authorization": f"Basic {login.basic}"} if login else {}
            found = self._send("GET", realm.copy_with(params=query), header, b"")
        if found.status in (400, 401, 403):
            raise self._no_login(names[0])
        if found.status != 200:
            raise errors.refused(
                realm.host, names[0], "the request of a token", found.status, self._message(found), found.headers
            )
        try:
            document = json.loads(found.body)
            token, seconds = document.get("token") or document.get("access_token"), document.get("expires_in")
        except (ValueError, AttributeError, RecursionError):
            token = seconds = None
        if not isinstance(token, str) or not (token.isascii() and token.isprintable() and len(token) <= _TOKEN):
            raise errors.invalid(realm.host, "no valid token")
        expires = isinstance(seconds, int | float) and 0 < seconds < _ENDLESS
        return _Token(token, wanted, asked + (_DUE * seconds if expires else _ENDLESS))

    def _send(self, method: str, url: httpx2.URL, headers: Mapping[str, str], content: Body) -> Answer:
        try:
            answer = self._exchanges.send(method, url, headers, content)
        except (httpx2.RequestError, OSError) as error:
            host = self.host if self._is_own(url) else url.netloc.decode()
            raise errors.connection(host, error, self._contacted) from None
        self._contacted = True
        return answer

    def _no_login(self, repository: str) -> Denied:
        if self._credentials is None:
            return Denied(
                f"Registry {self.host} requires a login, and no file has credentials for it. Run `podman login "
                f"{self.host}` or `docker login {self.host}`."
            )
        right = "write to" if self._writes else "read"
        return Denied(
            f"Registry {self.host} refused the credentials of {self._credentials.source}: they are wrong, or may not "
            f"{right} {repository}. Run `podman login {self.host}` or `docker login {self.host}`."
        )

    def _message(self, answer: Answer) -> str:
        login = self._credentials
        own = [login.basic, login.password, quote(login.password, safe=""), login.identity_token] if login else []
        return errors.message_of(
            answer.body, [secret for secret in (*own, *(token.text for token in self._tokens.values())) if secret]
        )


def _client(tls: ssl.SSLContext | None, transport: httpx2.BaseTransport | None) -> httpx2.Client:
    """A client that keeps no cookies: with the cookie of a session, Harbor refuses writes without a CSRF token."""
    try:
        return httpx2.Client(
            verify=tls or True,
            timeout=_TIMEOUT,
            headers=_HEADERS,
            transport=transport,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
    except (ImportError, ValueError, httpx2.InvalidURL):  # its text may contain the password of the proxy
        raise RegistryError(
            "The proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY cannot be used: only addresses with http:// or https:// "
            "are supported. Correct it, or name hosts without a proxy in NO_PROXY."
        ) from None
