"""Messages for users: what failed, why, and what to do. Texts of a registry are shortened, without secrets."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterable, Iterator

import httpx2

from stackwright.api.secrecy import HIDDEN, hidden

_LONGEST = 200
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")


class RegistryError(Exception):
    """An error that the user can fix, or report to the registry's administrator."""


class Stopped(RegistryError):
    """The end of a request, because the user or another failure ended the push."""


class Transient(RegistryError):
    """A failure that may be gone in a moment: the connection was cut, or the registry is overloaded."""


class TooLarge(RegistryError):
    """An answer with more bytes than we read."""


class OtherSize(RegistryError):
    """A blob of which the registry has another size than its manifest says."""


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
    text = " ".join(hidden(text[: 10 * _LONGEST]).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def refused(host: str, repository: str, method: str, status: int, text: str) -> RegistryError:
    """The error for an answer that the request does not expect."""
    told = f" ({text})" if text else ""
    if status == 403:
        return RegistryError(f"Registry {host} denies access to {repository}{told}.")
    if status in (400, 404) and (not text or text.startswith(("NAME_", "NOT_FOUND"))):
        return RegistryError(
            f"Registry {host} refused the name {repository}{told or f' (status {status})'}. It may be no registry, or "
            "need a project of this name first."
        )
    if status == 413:
        return RegistryError(f"Registry {host}, or a proxy before it, refuses requests of this size{told}.")
    kind = Transient if status == 429 or status >= 500 else RegistryError
    return kind(f"Registry {host} answered {method} for {repository} with status {status}{told}.")


def invalid(host: str, what: str) -> RegistryError:
    """The error for an answer that breaks the specification."""
    return RegistryError(f"Registry {host} answered with {what}.")
