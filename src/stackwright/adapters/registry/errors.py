"""Messages for users: what failed, why, and what to do. Texts of a registry are shortened, without secrets."""

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
_PAUSE = 300  # seconds for which we wait if a registry asks for a pause
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")


class RegistryError(Exception):
    """An error that the user can fix, or report to the registry's administrator.

    status  of the answer that caused it, or 0
    """

    status = 0


class Stopped(RegistryError):
    """The end of a request, because the user or another failure ended the push."""


class Transient(RegistryError):
    """A failure that may be gone in a moment: the connection was cut, or the registry is overloaded.

    pause  seconds for which the registry asks
    """

    def __init__(self, text: str, pause: float = 0) -> None:
        super().__init__(text)
        self.pause = pause


class Denied(RegistryError):
    """No right, or a limit of the registry: the same in another form is refused, too."""


class TooLarge(RegistryError):
    """An answer with more bytes than we read."""


class Corrupt(RegistryError):
    """The registry has another content or size than a digest or manifest says. What it has, no push replaces."""


def connection(host: str, error: Exception, contacted: bool) -> RegistryError:
    """The error for a request without an answer. It is transient if the registry answered before."""
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
    """In our own words: the text of an error may contain an address with a password, such as that of a proxy."""
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


def said(body: bytes, secrets: Iterable[str]) -> str:
    """What a registry says about an error, as `CODE: message`, or nothing."""
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
    """The error for an answer that the request does not expect."""
    error = _refusal(host, repository, method, status, text, headers or httpx2.Headers())
    error.status = status
    return error


def _refusal(host: str, repository: str, method: str, status: int, text: str, headers: httpx2.Headers) -> RegistryError:
    told = f" ({text})" if text else ""
    if status == 403:
        return Denied(f"Registry {host} denies access to {repository}{told}.")
    if status in (400, 404) and (not text or text.startswith(("NAME_", "NOT_FOUND"))):
        return RegistryError(
            f"Registry {host} refused the name {repository}{told or f' (status {status})'}. It may be no registry, or "
            "need a project or repository of this name first."
        )
    if status == 413:
        return Denied(f"Registry {host}, or a proxy before it, refuses requests of this size{told}.")
    message = f"Registry {host} answered {method} for {repository} with status {status}{told}"
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
    return Corrupt(f"Registry {host} has {what}. It is damaged there; delete it there, then push it again.")


def invalid(host: str, what: str) -> RegistryError:
    """The error for an answer that breaks the specification."""
    return RegistryError(f"Registry {host} answered with {what}.")
