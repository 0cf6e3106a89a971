"""Maps a clouds.yaml in a Secret to one connection for all objects with the same credentials.

The key of a connection is a digest of all data that determine its target and its user: the entry, the region and the CA
certificate. A Secret is read again after READ_AGAIN seconds, and at once after a refused log-in. It is parsed again
only if it changed, even if it is invalid, because parsing delays all tasks of the operator.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.transport.client import bound, prepared
from stackwright.adapters.openstack.transport.clouds_yaml import BadEntry, entry_of
from stackwright.adapters.openstack.transport.deadline import TIMEOUT
from stackwright.adapters.openstack.transport.failures import Failures
from stackwright.adapters.openstack.transport.send import in_cloud_thread
from stackwright.adapters.threads import contained
from stackwright.core.objects import MUST_BE_TEXT, is_text, secret_data
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.openstack.resources import CloudRef
from stackwright.core.openstack.tenant_secrets import refusal
from stackwright.core.plan import Key, Object

if TYPE_CHECKING:
    from openstack.connection import Connection

# Seconds. Until then, new resources may still be created in the project of the previous credentials.
READ_AGAIN = 2.0
USED = ("clouds.yaml", "cacert")  # fields of a Secret
FORGET = 600.0  # seconds for which the result of a Secret is kept after its last read
Secrets = Callable[[Key], Awaitable[Object | None]]
Count = Callable[[str, str], None]  # called for each response, with method and status


@dataclass
class Login:
    digest: str
    entry: Mapping[str, Any]
    ca: str


@dataclass
class _Parsed:
    """The result of parsing a Secret for a cloud, and the digest of the parsed data.

    read   time of the last read
    login  as `Way` returned it at that time; None if the Secret cannot be used
    failures  of the reads with this result
    """

    digest: bytes
    result: Login | TransientCloudError
    read: float
    login: Login | None = None
    failures: Failures = field(default_factory=Failures)


Way = Callable[[Login], Awaitable[Login]]


async def as_written(login: Login) -> Login:
    return login


class Logins:
    """CloudRef → Login; a Secret is read once per READ_AGAIN for all callers, and parsed once.

    way  replaces the login where the cloud is not reached by the address in the entry
    """

    def __init__(self, secrets: Secrets, way: Way = as_written) -> None:
        self._secrets, self._way = secrets, way
        self._known: dict[CloudRef, _Parsed] = {}  # least recently read first

    async def get(self, cloud: CloudRef) -> Login:
        """The login of a cloud. Raises TransientCloudError that names the missing parts of the Secret."""
        known = self._known.get(cloud)
        if known and known.login and time.monotonic() - known.read < READ_AGAIN:
            return known.login
        secret = await self._secrets(cloud.secret)
        if not cloud.granted and (refused := refusal(secret, cloud.secret)):
            self.forget(cloud)
            raise TransientCloudError(Reason.FORBIDDEN, refused)  # not a login error, which would count as lost
        data, now = secret_data(secret), time.monotonic()
        digest = _digest(data)
        if known is None or known.digest != digest:
            known = _Parsed(digest, await in_cloud_thread(None, lambda: _result(cloud, data)), now)
        known.read, known.login = now, None
        self._keep(cloud, known)
        if isinstance(known.result, TransientCloudError):  # a new one: each raise adds a traceback
            error = TransientCloudError(known.result.cause, str(known.result))
            known.failures.note(error, now)
            raise error
        known.login = await self._way(known.result)
        return known.login

    def _keep(self, cloud: CloudRef, known: _Parsed) -> None:
        self._known.pop(cloud, None)
        self._known[cloud] = known
        oldest = next(iter(self._known))
        if known.read - self._known[oldest].read > FORGET:  # drop at most one per call, which bounds the dict
            del self._known[oldest]

    def forget(self, cloud: CloudRef) -> None:
        self._known.pop(cloud, None)


def _digest(data: Mapping[str, str]) -> bytes:
    return hashlib.sha256(json.dumps([bool(data), *map(data.get, USED)]).encode()).digest()


def _result(cloud: CloudRef, data: Mapping[str, str]) -> Login | TransientCloudError:
    try:
        return login_of(cloud, data)
    except TransientCloudError as error:
        return error


def login_of(cloud: CloudRef, data: Mapping[str, str]) -> Login:
    where = f"Secret {'/'.join(cloud.secret)}"
    if not data:
        raise TransientCloudError(Reason.CREDENTIALS_MISSING, f"{where} does not exist")
    for name in USED:
        if not is_text(data.get(name, "")):
            raise TransientCloudError(Reason.CREDENTIALS_INVALID, f"{name} in {where}: {MUST_BE_TEXT}")
    try:
        entry = entry_of(data.get("clouds.yaml", ""), cloud.cloud)
    except BadEntry as error:
        raise TransientCloudError(Reason.CREDENTIALS_INVALID, f"clouds.yaml in {where}: {error}") from None
    entry = {**entry, **({"region_name": cloud.region} if cloud.region else {})}
    return login_by(entry, data.get("cacert", ""))


def login_by(entry: Mapping[str, Any], ca: str) -> Login:
    text = json.dumps([entry, ca], sort_keys=True, default=str)
    return Login(hashlib.sha256(text.encode()).hexdigest(), entry, ca)


def connection(login: Login, files: ExitStack, count: Count = lambda method, code: None) -> Connection:
    """Create a client; no request is sent yet. `files` holds the certificate file that the library requires."""
    from openstack.connection import Connection

    more: dict[str, Any] = {"api_timeout": TIMEOUT, "app_name": "stackwright"}
    if login.ca:
        file = files.enter_context(tempfile.NamedTemporaryFile("w", suffix=".crt"))  # noqa: SIM115 - `files` closes it
        file.write(login.ca)
        file.flush()
        more["cacert"] = file.name
    try:
        made = prepared(contained(Connection, **{**login.entry, **more}))
    except Exception as error:
        files.close()
        raise TransientCloudError(
            Reason.CREDENTIALS_INVALID, f"the cloud's entry cannot be used: {_error_text(error, login.entry)}"
        ) from None
    bound(made.session.session)
    made.session.session.hooks["response"].append(
        lambda response, *_, **__: count(str(response.request.method), str(response.status_code))
    )
    return made


def _error_text(error: Exception, entry: Mapping[str, Any]) -> str:
    """The error in one line; only its class if it repeats a secret of the entry."""
    secrets = [str(value) for key, value in entry["auth"].items() if key.endswith(("password", "secret", "token"))]
    text = " ".join(str(error).split())[:300]
    return type(error).__name__ if any(secret and secret in str(error) for secret in secrets) else text
