"""Answers from an address that a tenant names: how much of them is read, how long, and what of them is told.

The address may be any that the operator reaches. So an answer is bounded in size and time, its text is not repeated,
and no redirect leads to another host. The module imports the HTTP libraries, so it is imported when the first client
is made.
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

from stackwright.adapters.openstack.client import TIMEOUT
from stackwright.adapters.openstack.transport.deadline import left
from stackwright.adapters.threads import LibraryFailed
from stackwright.core.bounds import values_in
from stackwright.core.openstack.clouds import LATE

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Bytes after decompression; Python may take ten times as many to decode them, and many answers are decoded at once.
# Lists are read in pages of 500: of 1.5 MiB from Nova, of 0.6 MiB from Neutron, which tells security groups with all
# their rules.
LARGEST = 4 << 20
VALUES = 100_000  # of JSON in one answer, each of which takes Python up to 150 bytes; a server or port has 60
CHUNK = 64 << 10
# Seconds from the request to the answer's last byte; the read timeout, TIMEOUT, begins anew with each byte. After a
# first byte that comes as late as it may, the largest answer has time at 1.2 Mbit/s.
LONGEST = 2.0 * TIMEOUT
NO_WAY = (
    "Connection refused", "Connection reset", "Network is unreachable", "No route to host",
    "Name or service not known", "Temporary failure in name resolution", "Failed to resolve",
)  # fmt: skip
CERTIFICATE = (
    "self-signed certificate", "unable to get local issuer certificate", "certificate has expired",
    "certificate is not yet valid", "Hostname mismatch", "IP address mismatch", "WRONG_VERSION_NUMBER",
)  # fmt: skip


class NotTaken(RequestException):
    """An answer that is not read; the text is ours."""


class _Received(io.RawIOBase):
    """What a socket receives in LONGEST, and until the thread's deadline; later reads raise TimeoutError."""

    def __init__(self, sock: socket.socket, received: io.RawIOBase) -> None:
        self._sock, self._received = sock, received
        self._pause = sock.gettimeout() or LONGEST
        self._until = time.monotonic() + min(LONGEST, left())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        rest = self._until - time.monotonic()
        if rest <= 0:
            raise TimeoutError("the answer takes too long")
        self._sock.settimeout(min(self._pause, rest))
        return self._received.readinto(buffer)

    def close(self) -> None:
        self._received.close()
        super().close()


class _Answer(HTTPResponse):
    """With one limit for status line, interim answers, headers and body."""

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
    """Reads every answer to its end, up to a bound; also errors, those of discovery, and redirects.

    Libraries decode answers of which nobody here knows, so values of JSON are counted before anybody gets the text.

    Once it is closed, or the thread's deadline has come, it sends nothing more: a thread that nobody waits for ends
    with the request that is on its way. All requests pass here, those of log-ins and redirects too.
    """

    _closed = False

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        if self._closed:
            raise NotTaken("the connection is closed")
        rest = left()
        if rest <= 0:
            raise NotTaken(LATE)
        kwargs["timeout"] = min(kwargs.get("timeout") or TIMEOUT, rest)
        response: Response = super().send(request, *args, **kwargs)
        try:
            self._check(request, response)
            response._content = b"".join(_bounded(response))
            response._content_consumed = True
            response.encoding = "utf-8"  # as JSON is, and as values are counted, whatever the headers say
        except BaseException as error:
            response.close()
            if isinstance(error, NotConnected) and isinstance(error.args[0], ReadTimeoutError):
                raise ReadTimeout(error, request=request) from None  # as while the headers are read
            raise
        return response

    def close(self) -> None:
        self._closed = True
        super().close()

    @staticmethod
    def _check(request: PreparedRequest, response: Response) -> None:
        """Raises NotTaken for a redirect to another host, which is read as requests reads it when it goes there."""
        if not 300 <= response.status_code < 400 or "location" not in response.headers:
            return
        there = PreparedRequest()
        with suppress(ValueError):
            there.prepare_url(response.headers["location"], None)
            if urlsplit(str(there.url)).hostname == urlsplit(str(request.url)).hostname:
                return
        raise NotTaken("it redirects to another host, which is not followed")


def _bounded(response: Response) -> Iterator[bytes]:
    read = values = 0
    for chunk in response.iter_content(CHUNK):
        read, values = read + len(chunk), values + values_in(chunk)
        if read > LARGEST or values > VALUES:
            raise NotTaken(f"an answer has more than {LARGEST >> 20} MiB or {VALUES} values, which is not read")
        yield chunk


def told(error: Exception, service: str) -> str:
    """What went wrong, by the error's class and HTTP status: its text may repeat an answer."""
    before = error.__cause__ or error.__context__
    if isinstance(before, exceptions.ClientException) and not isinstance(error, exceptions.ClientException):
        return told(before, service)  # the SDK's error has no more than its text
    original = getattr(error, "original", None)
    if isinstance(original, NotTaken):
        return str(original)
    status = getattr(error, "http_status", None) or getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 100:
        return f"HTTP {status}"
    match error:
        case exceptions.ConnectTimeout():
            return "no answer in time"
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
    return f"no answer of OpenStack's ({type(error).__name__})"


def _with(what: str, causes: tuple[str, ...], error: Exception) -> str:
    """With the cause, of those that are known: what stands in an error beside it may be of the answer."""
    text = str(error).lower()
    return next((f"{what}: {cause}" for cause in causes if cause.lower() in text), what)
