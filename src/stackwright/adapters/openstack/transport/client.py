"""Clients of openstacksdk, created in one place, and their errors as one-line messages.

The SDK takes most of a second to import, so it is imported when the first client is created. Neither a clouds.yaml file
nor environment variables decide where a client connects: the caller names the cloud.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.transport.deadline import TIMEOUT

if TYPE_CHECKING:
    from openstack.connection import Connection

PAGE = 500  # items of a response, which is bounded
AUTH = ("username", "password", "auth_url", "project_name", "user_domain_name", "project_domain_name")


def connect(
    auth: Mapping[str, str],
    region: str,
    *,
    ca_file: str = "",
    identity_url: str = "",
    interface: str = "",
    bounded: bool = False,
) -> Connection:
    """Create a client; no request is sent yet.

    ca_file       file with the CA certificate, if the endpoints use TLS
    identity_url  Keystone's address, if the catalog's is not to be used
    interface     interface of the endpoints; public if empty
    bounded       whether responses and the time for all requests of a call have limits, see `bound`
    """
    from openstack.connection import Connection

    more: dict[str, Any] = {"cacert": ca_file} if ca_file else {}
    if identity_url:
        more["identity_endpoint_override"] = identity_url
    if interface:
        more["interface"] = interface
    made = Connection(
        auth={name: auth[name] for name in AUTH},
        region_name=region,
        identity_api_version="3",
        app_name="stackwright",
        api_timeout=TIMEOUT,
        **more,
    )
    if bounded:
        bound(made.session.session)
    return prepared(made)


class _Login:
    """The lock of keystoneauth's log-in; raises Unauthorized instead of a deadlock of a thread with itself.

    If a version discovery gets 401, keystoneauth repeats it with a token, even the discovery at the start of a log-in.
    A log-in whose discovery fails continues with the version in auth_url.
    """

    def __init__(self) -> None:
        self._lock, self._thread = threading.Lock(), 0

    def __enter__(self) -> None:
        from keystoneauth1.exceptions import Unauthorized

        if self._thread == threading.get_ident():
            raise Unauthorized("version discovery requires a token")
        self._lock.acquire()
        self._thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._thread = 0
        self._lock.release()


def prepared(made: Connection) -> Connection:
    """Apply the settings that all clients share."""
    # A private cloud is not reached through the proxy to the internet.
    made.session.session.trust_env = False
    login: Any = made.session.auth
    login._lock = _Login()
    return made


def bound(session: Any) -> None:
    """Limit the responses to a `requests.Session` in size and time; after this thread's deadline it sends nothing."""
    from stackwright.adapters.openstack.transport.responses import Bounded

    session.trust_env = False
    for scheme in ("http://", "https://"):
        session.mount(scheme, Bounded())


def sdk_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """What a request by the SDK raises, and others, for `except`; imported late, as the SDK."""
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import SDKException

    return ClientException, SDKException, OSError, *others


def status_of(error: Exception) -> int:
    """HTTP status of an SDK error; 0 if it has none."""
    return int(getattr(error, "http_status", None) or getattr(error, "status_code", None) or 0)


def message_of(error: Exception) -> str:
    """Message of the service, or of the library, in one line."""
    return " ".join(str(getattr(error, "details", "") or error).split())[:300]
