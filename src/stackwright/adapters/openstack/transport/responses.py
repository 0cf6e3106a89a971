"""Limits for responses from an address that a tenant chooses: size, time, and the content that messages repeat.

The address may be any that the operator can reach. So a response is limited in size and time, its text is not repeated,
and no redirect to another host is followed. The module imports the HTTP libraries, so it is imported when the first
client is created.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from keystoneauth1 import exceptions
from keystoneauth1.session import TCPKeepAliveAdapter
from requests import ConnectionError as NotConnected
from requests import PreparedRequest, ReadTimeout, RequestException, Response
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ReadTimeoutError

from stackwright.adapters.openstack.transport.deadline import TIMEOUT
from stackwright.adapters.threads import LibraryFailed, count, seconds_left
from stackwright.core.bounds import values_in
from stackwright.core.openstack.clouds import LATE

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Bytes after decompression; decoding may take ten times as many, and many responses are decoded at once. Lists are read
# in pages of 500: 1.5 MiB from Nova, 0.6 MiB from Neutron, which returns security groups with all their rules.
LARGEST = 4 << 20
VALUES = 100_000  # JSON values in one response; each takes up to 150 bytes in Python; a server or port has 60
CHUNK = 64 << 10
# Seconds from the request to the last byte of the response; the read timeout, TIMEOUT, restarts with each byte. If the
# first byte comes as late as allowed, the time left suffices for the largest response at 1.2 Mbit/s.
RESPONSE_SECONDS = 2.0 * TIMEOUT
NO_WAY = (
    "Connection refused", "Connection reset", "Network is unreachable", "No route to host",
    "Name or service not known", "Temporary failure in name resolution", "Failed to resolve",
)  # fmt: skip
CERTIFICATE = (
    "self-signed certificate", "unable to get local issuer certificate", "certificate has expired",
    "certificate is not yet valid", "Hostname mismatch", "IP address mismatch", "WRONG_VERSION_NUMBER",
)  # fmt: skip


class ResponseRefused(RequestException):
    """A response that is not read; the text of the error is our own."""


class _Received(io.RawIOBase):
    """Data that a socket receives within RESPONSE_SECONDS and before the thread's deadline.

    Later reads raise TimeoutError.
    """

    def __init__(self, sock: socket.socket, received: io.RawIOBase) -> None:
        self._sock, self._received = sock, received
        self._pause = sock.gettimeout() or RESPONSE_SECONDS
        self._until = time.monotonic() + min(RESPONSE_SECONDS, seconds_left())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        rest = self._until - time.monotonic()
        if rest <= 0:
            raise TimeoutError("the response takes too long")
        self._sock.settimeout(min(self._pause, rest))
        return self._received.readinto(buffer)

    def close(self) -> None:
        self._received.close()
        super().close()


class _Answer(HTTPResponse):
    """A response with one time limit for status line, interim responses, headers and body."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_Received(sock, self.fp.detach()))


class _Connection(HTTPConnection):
    response_class = _Answer


class _TLSConnection(HTTPSConnection):
    response_class = _Answer


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


class Bounded(TCPKeepAliveAdapter):
    """Adapter that reads each response completely, up to the limits, including errors, version discovery and redirects.

    Libraries decode responses themselves, so JSON values are counted before a library gets the text.

    After `close` or the thread's deadline, it sends nothing: an abandoned thread ends with the request in progress. All
    requests use this adapter, including those of log-ins and redirects.
    """

    _closed = False

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        if self._closed:
            raise ResponseRefused("the connection is closed")
        rest = seconds_left()
        if rest <= 0:
            raise ResponseRefused(LATE)
        kwargs["timeout"] = min(kwargs.get("timeout") or TIMEOUT, rest)
        response: Response = super().send(request, *args, **kwargs)
        try:
            self._check(request, response)
            response._content = b"".join(_bounded(response))
            response._content_consumed = True
            response.encoding = "utf-8"  # JSON is UTF-8 and counted as such, regardless of the headers
        except BaseException as error:
            response.close()
            if isinstance(error, NotConnected) and isinstance(error.args[0], ReadTimeoutError):
                raise ReadTimeout(error, request=request) from None  # the error of a timeout in the headers
            raise
        return response

    def close(self) -> None:
        self._closed = True
        super().close()

    @staticmethod
    def _check(request: PreparedRequest, response: Response) -> None:
        """Raise ResponseRefused for a redirect to another host; the target is parsed as `requests` parses it to follow
        it.
        """
        if not 300 <= response.status_code < 400 or "location" not in response.headers:
            return
        there = PreparedRequest()
        with suppress(ValueError):
            there.prepare_url(response.headers["location"], None)
            if urlsplit(str(there.url)).hostname == urlsplit(str(request.url)).hostname:
                return
        raise ResponseRefused("it redirects to another host, which the operator does not follow")


def _bounded(response: Response) -> Iterator[bytes]:
    read = values = 0
    for chunk in response.iter_content(CHUNK):
        read, values = read + len(chunk), values + values_in(chunk)
        if read > LARGEST or values > VALUES:
            raise ResponseRefused(f"a response exceeds the limit of {LARGEST >> 20} MiB or {VALUES} values")
        if not count(len(chunk)):
            raise ResponseRefused("the responses to all requests of the call exceed the limit together")
        yield chunk


def describe_error(error: Exception, service: str) -> str:
    """Describe an error by its class and HTTP status; its text may repeat a response."""
    before = error.__cause__ or error.__context__
    if isinstance(before, exceptions.ClientException) and not isinstance(error, exceptions.ClientException):
        return describe_error(before, service)  # the SDK's own error has only a text
    original = getattr(error, "original", None)
    if isinstance(original, ResponseRefused):
        return str(original)
    status = getattr(error, "http_status", None) or getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 100:
        return f"HTTP {status}"
    match error:
        case exceptions.ConnectTimeout():
            return "no response in time"
        case exceptions.SSLError():
            return _with("TLS fails", CERTIFICATE, error)
        case exceptions.ConnectFailure() | exceptions.UnknownConnectionError():
            return _with("no connection", NO_WAY, error)
        case exceptions.EndpointNotFound():
            return f"the catalog has no endpoint of service {service}"
        case LibraryFailed():
            return str(error)
        case OSError() if error.strerror:
            return str(error.strerror)
    return f"not a response of OpenStack ({type(error).__name__})"


def _with(what: str, causes: tuple[str, ...], error: Exception) -> str:
    """`what`, with the cause if it is known: the rest of the error may repeat the response."""
    text = str(error).lower()
    return next((f"{what}: {cause}" for cause in causes if cause.lower() in text), what)
