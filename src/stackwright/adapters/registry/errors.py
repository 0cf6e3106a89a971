"""Errors with messages for users: failure, cause and remedy. Texts of a registry are shortened, without secrets."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2

from stackwright.api.errors import printable, shortened
from stackwright.api.secrecy import HIDDEN, hidden

_LONGEST = 200
_PAUSE = 300  # longest pause in seconds that a registry may request
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")


class RegistryError(Exception):
    """An error that the user can fix, or report to the registry's administrator.

    status  HTTP status of the response that caused it, or 0
    """

    status = 0


class Stopped(RegistryError):
    """A request was ended, because the user or another failure ended the push."""


class Transient(RegistryError):
    """A failure after which a retry may succeed: the connection was cut, or the registry is overloaded.

    pause  seconds that the registry requests
    """

    def __init__(self, text: str, pause: float = 0) -> None:
        super().__init__(text)
        self.pause = pause


class Denied(RegistryError):
    """A missing right, or a limit of the registry: an upload in another form is refused, too."""


class TooLarge(RegistryError):
    """A response exceeds the limit of bytes."""


class Corrupt(RegistryError):
    """Content or size in the registry differ from the digest or manifest. A push does not replace this content."""


def connection(host: str, error: Exception, contacted: bool) -> RegistryError:
    """The error for a request without a response. It is transient if the registry responded before."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return RegistryError(
                f"The certificate of {host} is not trusted: {cause.verify_message.rstrip('.')}. Name the CA's "
                f"certificate with --ca FILE, or copy it to /etc/containers/certs.d/{host}/ca.crt."
            )
    for cause in causes:
        if isinstance(cause, ssl.SSLError) and cause.reason in _NOT_TLS:
            return RegistryError(f"{host} does not speak TLS. If this is intended, permit HTTP with --plain-http.")
    kind = Transient if contacted else RegistryError
    return kind(f"Registry {host} is unreachable: {_why(error, causes)}.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _why(error: Exception, causes: Iterable[BaseException]) -> str:
    """The cause in our own words, because the text may contain an address with a password, such as that of a proxy."""
    if isinstance(error, httpx2.TimeoutException):
        return "it did not answer in time"
    if isinstance(error, httpx2.ProxyError):
        return "the proxy refused the connection"
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return "its name cannot be resolved"
        if isinstance(cause, ssl.SSLError):
            return f"TLS failed ({cause.reason})"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    return "the connection was closed" if isinstance(error, httpx2.NetworkError | httpx2.ProtocolError) else "no answer"


def message_of(body: bytes, secrets: Iterable[str]) -> str:
    """The registry's message about an error, as `CODE: message`, or an empty text."""
    try:
        first = json.loads(body)["errors"][0]
        text = ": ".join(part for part in (first.get("code"), first.get("message")) if isinstance(part, str) and part)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return ""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return shortened(printable(" ".join(hidden(text[: 10 * _LONGEST]).split())), _LONGEST)


def refused(
    host: str, repository: str, method: str, status: int, text: str, headers: httpx2.Headers | None = None
) -> RegistryError:
    """The error for a response that the request does not expect."""
    error = _refusal(host, repository, method, status, text, headers or httpx2.Headers())
    error.status = status
    return error


def _refusal(host: str, repository: str, method: str, status: int, text: str, headers: httpx2.Headers) -> RegistryError:
    details = f" ({text})" if text else ""
    if status == 403:
        return Denied(f"Registry {host} denies access to {repository}{details}.")
    if status in (400, 404) and (not text or text.startswith(("NAME_", "NOT_FOUND"))):
        return RegistryError(
            f"Registry {host} refused the name {repository}{details or f' (status {status})'}. It may not be a "
            "registry, or you must create a project or repository of this name first."
        )
    if status == 413:
        return Denied(f"Registry {host}, or a proxy in front of it, refuses requests of this size{details}.")
    message = f"Registry {host} answered {method} for {repository} with status {status}{details}"
    if status not in (408, 429) and (status < 500 or status == 501):
        return RegistryError(f"{message}.")
    pause = _pause(headers)
    if pause > _PAUSE:
        return Denied(f"{message}, and asks for a pause of {pause:.0f} seconds. Run the same command then.")
    return Transient(f"{message}.", pause)


def _pause(headers: httpx2.Headers) -> float:
    """The seconds of `Retry-After`, which may also be a date; 0 for a text that is neither."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until = parsedate_to_datetime(text)
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError, OverflowError):  # also of a date without a zone
        return 0.0


def corrupt(host: str, what: str) -> Corrupt:
    return Corrupt(f"Registry {host} has {what}. Delete it in the registry, then push it again.")


def invalid(host: str, what: str) -> RegistryError:
    """The error for a response that violates the specification."""
    return RegistryError(f"Registry {host} answered with {what}.")
