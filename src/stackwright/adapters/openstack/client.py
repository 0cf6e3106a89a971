"""Clients of openstacksdk: made in one place, and their errors told in a sentence.

The SDK takes most of a second to import, so it is imported when the first client is made. Neither a clouds.yaml nor
variables of the environment have a say in where a client goes: who calls names the cloud.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from stackwright.core.openstack.tenant import CloudError
from stackwright.core.plan import Key
from stackwright.core.ports import Refused

if TYPE_CHECKING:
    from openstack.connection import Connection

AUTH = ("username", "password", "auth_url", "project_name", "user_domain_name", "project_domain_name")
TIMEOUT = 30
C = TypeVar("C")


def demand(admin: Mapping[str, str], secret: Key) -> None:
    """Raises Refused with what the Secret of an administrator lacks."""
    if missing := [key for key in AUTH if not admin.get(key)]:
        raise Refused(f"Secret {'/'.join(secret)} lacks {', '.join(missing)}")


def connect(
    auth: Mapping[str, str], region: str, *, ca_file: str = "", identity_url: str = "", interface: str = ""
) -> Connection:
    """A client; nothing is sent yet.

    ca_file       certificate of the authority, where the endpoints speak TLS
    identity_url  Keystone's address, if the catalog is not to be asked for it
    interface     of the endpoints: public if empty
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
    return prepared(made)


class _Login:
    """The lock of keystoneauth's log-in, which raises Unauthorized where a thread would wait for itself.

    A version discovery that is answered with 401 is repeated with a token, also the one that a log-in begins with. A
    log-in whose discovery fails goes on with the version in auth_url.
    """

    def __init__(self) -> None:
        self._lock, self._thread = threading.Lock(), 0

    def __enter__(self) -> None:
        from keystoneauth1.exceptions import Unauthorized

        if self._thread == threading.get_ident():
            raise Unauthorized("version discovery wants a token")
        self._lock.acquire()
        self._thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._thread = 0
        self._lock.release()


def prepared(made: Connection) -> Connection:
    """What all clients have in common."""
    # A cloud of one's own is not behind the proxy that leads to the internet.
    made.session.session.trust_env = False
    login: Any = made.session.auth
    login._lock = _Login()
    return made


def status_of(error: Exception) -> int:
    """The HTTP status of an SDK's error; 0 without one."""
    return int(getattr(error, "http_status", None) or getattr(error, "status_code", None) or 0)


def message_of(error: Exception) -> str:
    """What the service says, or the library, in a line."""
    return " ".join(str(getattr(error, "details", "") or error).split())[:300]


def explained(cls: type[C]) -> type[C]:
    """A class whose public methods raise CloudError for whatever the SDK raises."""
    for name, method in list(vars(cls).items()):
        if callable(method) and not name.startswith("_"):
            setattr(cls, name, _explained(method))
    return cls


def _explained(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        from keystoneauth1.exceptions import ClientException
        from openstack.exceptions import SDKException

        try:
            return method(*args, **kwargs)
        except (ClientException, SDKException, OSError) as error:
            status = status_of(error)
            said = f"HTTP {status}: {message_of(error)}" if status else message_of(error) or type(error).__name__
            passing = status in (404, 408, 409, 429) or status >= 500 or not status
            raise CloudError(f"{method.__name__}: {said}", passing=passing) from error

    return call
