"""Requests to a service; a response that is no success becomes TransientCloudError, which may pass, or
TerminalCloudError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.transport.shapes import answering
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError

if TYPE_CHECKING:
    from openstack.connection import Connection
    from requests import Response

COMPUTE = "2.60"  # 2.52: tags in the request that creates a server; 2.60: volumes attached to several servers
REQUEST_ID = "x-openstack-request-id"
PAUSES = (10.0, 300.0)  # seconds without requests after a rate limit: default and maximum
LONGEST_ERROR = 64 << 10  # bytes
QUOTA = ("quota", "limitexceeded", "limit exceeded", "maximum number of")


def request(connection: Connection, service: str, method: str, path: str, **more: Any) -> Response:
    """Send a request. Raises TransientCloudError or TerminalCloudError for every response that is no success."""
    with answering():
        response: Response = getattr(connection, service).request(path, method, **more)
    if response.status_code >= 400:
        raise problem_of(response)
    return response


def text_of(response: Response) -> str:
    """The service's message in one line, taken out of an envelope that each service names differently.

    Empty if the response is longer than any error of an OpenStack.
    """
    if len(response.content) > LONGEST_ERROR:
        return ""
    try:
        found: Any = response.json()
        while isinstance(found, dict) and found:
            found = found.get("message") or found.get("detail") or next(iter(found.values()))
        said = str(found)
    except (ValueError, RecursionError):
        said = response.text
    return " ".join(said.split())[:300]


def problem_of(response: Response) -> TransientCloudError | TerminalCloudError:
    """The error for a response that is no success.

    Only the text of an OpenStack, recognized by its request id, is repeated: a catalog may name any address.
    """
    own = REQUEST_ID in {name.lower() for name in response.headers}
    after = str(response.headers.get("Retry-After") or "")
    return problem(response.status_code, text_of(response), after, own=own)


def problem(
    status: int, text: str, retry_after: str = "", *, own: bool = True
) -> TransientCloudError | TerminalCloudError:
    """The error for a status and a text; the text is repeated if it is OpenStack's `own`."""
    said = f"HTTP {status}: {text}" if own and text else f"HTTP {status}"
    words = text.lower().replace(" ", "")
    seconds = float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0.0
    after = min(seconds, PAUSES[1]) or None
    if status in (403, 409, 413) and any(word.replace(" ", "") in words for word in QUOTA):
        return TransientCloudError(Reason.QUOTA_EXCEEDED, said, after or 30.0)
    match status:
        case 401:
            return TransientCloudError(Reason.AUTHENTICATION_FAILED, said)
        case 404 if own:
            return TransientCloudError(Reason.NOT_FOUND, said)
        case 404:  # a proxy's: nothing is known of the resource
            return TransientCloudError(Reason.UNREACHABLE, f"{said}, which is not from OpenStack")
        case 409:
            return TransientCloudError(Reason.CONFLICT, said)
        case 413 | 429:
            return TransientCloudError(Reason.RATE_LIMITED, said, after or PAUSES[0])
        case 403:
            return TerminalCloudError(Reason.FORBIDDEN, said)
    if status >= 500 or status == 408:
        return TransientCloudError(Reason.SERVER_ERROR, said, after)
    return TerminalCloudError(Reason.REJECTED, said)
