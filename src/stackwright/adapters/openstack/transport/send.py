"""Requests to a service, and the state of a cloud according to its responses. An error response becomes
TransientCloudError, if a retry may succeed, or TerminalCloudError.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from stackwright.adapters.openstack.transport.shapes import answering
from stackwright.adapters.threads import NoThread, in_thread_of
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError

if TYPE_CHECKING:
    from openstack.connection import Connection
    from requests import Response

T = TypeVar("T")
COMPUTE = "2.60"  # 2.52: tags in the request that creates a server; 2.60: volumes attached to several servers
REQUEST_ID = "X-Openstack-Request-Id"
FOREIGN = f"HTTP 404 without the header {REQUEST_ID}: it is not from OpenStack, or a proxy removes the header"
PAUSES = (10.0, 300.0)  # seconds without requests after a rate limit: default and maximum
LONGEST_ERROR = 64 << 10  # bytes
DATE = "%a, %d %b %Y %H:%M:%S GMT"  # the format of the header
FORMS = {"itemNotFound"}, {"NeutronError"}  # keys of OpenStack's own errors about absent resources
QUOTA = ("quota", "limitexceeded", "limit exceeded", "maximum number of")


@dataclass
class CloudState:
    """The state of a cloud according to its responses. A clock is given minus our monotonic one; a slow response lowers
    it.

    dates      service → its clock, by the header Date, which uWSGI does not send
    issued     the clock of Keystone, by its last token
    token      that token
    ids        service → whether any response had a request id
    first_404  attachment of a volume → time of the first 404 for its server
    """

    dates: dict[str, float] = field(default_factory=dict)
    issued: float | None = None
    token: Any = None
    ids: dict[str, bool] = field(default_factory=dict)
    first_404: dict[str, float] = field(default_factory=dict)

    def clock(self, service: str) -> float | None:
        """The earlier clock: a gateway may set Date, and a list of changes that begins too late is incomplete."""
        known = self.dates.get(service), self.issued
        return min((each for each in known if each is not None), default=None)

    def note(self, service: str, response: Response) -> None:
        has_id, form = _has_id(response), str(response.headers.get("Content-Type"))
        if not has_id and (response.status_code >= 400 or "json" not in form):
            return  # the response may be that of a proxy
        self.ids[service] = has_id or self.ids.get(service, False)
        with suppress(ValueError):
            date = datetime.strptime(str(response.headers.get("Date")), DATE).replace(tzinfo=UTC)
            self.dates[service] = date.timestamp() - time.monotonic()

    def note_token(self, token: Any) -> None:
        """The token is an AccessInfo of keystoneauth, or None."""
        if token is None or token is self.token:
            return
        self.token = token
        with suppress(LookupError, TypeError, ValueError, OverflowError):  # it has no valid time
            if issued := token.issued:
                self.issued = issued.timestamp() - time.monotonic()


def state_of(connection: Connection) -> CloudState:
    """The state, an attribute of the connection: the callback of a weak reference could fail in a deep recursion."""
    state: CloudState = vars(connection).setdefault("_stackwright_state", CloudState())
    return state


def request(connection: Connection, service: str, method: str, path: str, **more: Any) -> Response:
    """Send a request. Raises TransientCloudError or TerminalCloudError for every error response."""
    with answering():
        response: Response = getattr(connection, service).request(path, method, **more)
    state = state_of(connection)
    state.note(service, response)
    state.note_token(getattr(connection.session.auth, "auth_ref", None))
    if response.status_code >= 400:
        raise problem_of(response, ids=state.ids.get(service, True))
    return response


async def in_cloud_thread(executor: Executor | None, call: Callable[[], T]) -> T:
    """A contained call for a cloud in a thread of the executor. Raises TransientCloudError if none can be started."""
    try:
        return await in_thread_of(executor, call)
    except NoThread as error:
        raise TransientCloudError(Reason.UNREACHABLE, str(error)) from None


def succeeds(send: Callable[[], object]) -> bool:
    """Whether a request after the one that created a resource succeeds. No error may lose the id of the resource: an
    earlier list would prove that it does not exist, and another one would be created.
    """
    try:
        send()
    except Exception:
        return False
    return True


def text_of(response: Response) -> str:
    """The service's message in one line, from an envelope with different names in each service.

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


def problem_of(response: Response, *, ids: bool = True) -> TransientCloudError | TerminalCloudError:
    """The error for an error response; `ids` is false if a gateway removes the service's request ids.

    Only the text of an OpenStack, recognized by its request id, is repeated: a catalog may name any address. A 404
    without one proves nothing about a resource, unless it has OpenStack's format or no response has a request id.
    """
    own = _has_id(response)
    if response.status_code == 404 and ids and not own and not _is_formed(response):
        return TransientCloudError(Reason.UNREACHABLE, FOREIGN)
    after = str(response.headers.get("Retry-After") or "")
    return problem(response.status_code, text_of(response), after, own=own)


def is_keystones(response: Response | None) -> bool:
    """Whether an error response is Keystone's own. A gateway before it may refuse requests, too."""
    found = None if response is None else _mapping_of(response)
    return found is not None and found.keys() == {"error"} and isinstance(found["error"], dict)


def _has_id(response: Response) -> bool:
    return REQUEST_ID.lower() in {name.lower() for name in response.headers}


def _is_formed(response: Response) -> bool:
    """Whether a 404 has the format of OpenStack's services, or of their libraries' responses for unknown paths."""
    found = _mapping_of(response)
    if found is None:
        return False
    unknown_path = "title" in found and found.get("code") in (404, "404 Not Found")
    return unknown_path or found.keys() in FORMS


def _mapping_of(response: Response) -> dict[str, Any] | None:
    """The JSON of an error; None if it is no mapping, or longer than any error of an OpenStack."""
    if len(response.content) > LONGEST_ERROR:
        return None
    try:
        found: Any = response.json()
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


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
        case 401:  # of a service, although Keystone accepted the login again
            return TransientCloudError(Reason.TOKEN_REFUSED, said)
        case 404:
            return TransientCloudError(Reason.NOT_FOUND, said)
        case 409:
            return TransientCloudError(Reason.CONFLICT, said)
        case 413 | 429:
            return TransientCloudError(Reason.RATE_LIMITED, said, after or PAUSES[0])
        case 403:
            return TerminalCloudError(Reason.FORBIDDEN, said)
    if status >= 500 or status == 408:
        return TransientCloudError(Reason.SERVER_ERROR, said, after)
    return TerminalCloudError(Reason.REJECTED, said)
