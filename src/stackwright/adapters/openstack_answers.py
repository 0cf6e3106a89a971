"""Answers from an address that a tenant names: how much of them is read, and what of them is told.

The address may be any that the operator reaches. So an answer is bounded, its text is not repeated, and no redirect
leads to another host. The module imports the HTTP libraries, so it is imported when the first client is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin, urlsplit

from keystoneauth1 import exceptions
from keystoneauth1.session import TCPKeepAliveAdapter
from requests import PreparedRequest, RequestException, Response

from stackwright.adapters.threads import LibraryFailed

# Bytes after decompression. Nova and Cinder answer in pages of 1000, of 3 MiB; 10,000 ports of Neutron in one answer
# are 12 MiB. As JSON of empty objects, the worst, Python makes 25 times as much of it.
LARGEST = 16 << 20
CHUNK = 64 << 10
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


class Bounded(TCPKeepAliveAdapter):
    """Reads every answer to its end, up to a bound; also those of discovery, and redirects."""

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        response: Response = super().send(request, *args, **kwargs)
        try:
            self._check(request, response)
            response._content = b"".join(_bounded(response))
            response._content_consumed = True
        except BaseException:
            response.close()
            raise
        return response

    @staticmethod
    def _check(request: PreparedRequest, response: Response) -> None:
        """Raises NotTaken for a redirect to another host."""
        if not response.is_redirect:
            return
        with suppress(ValueError):
            here = str(request.url)
            if urlsplit(urljoin(here, response.headers["location"])).hostname == urlsplit(here).hostname:
                return
        raise NotTaken("it redirects to another host, which is not followed")


def _bounded(response: Response) -> Iterator[bytes]:
    read = 0
    for chunk in response.iter_content(CHUNK):
        read += len(chunk)
        if read > LARGEST:
            raise NotTaken(f"an answer has more than {LARGEST >> 20} MiB, which is not read")
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
