"""Services, endpoints and service users in Keystone, by openstacksdk in a thread.

The SDK takes a second to import, so only the process that needs it imports it, at the first use. Requests use the
address in the admin's Secret, not the catalog, which may still be empty or hold an address for users only. A password
is set only when a log-in with it fails: setting it again would end the tokens of running services.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from stackwright.adapters.openstack.deployed import trustees
from stackwright.adapters.openstack.deployed.administrator import connect_as, require_credentials
from stackwright.adapters.openstack.transport.client import bound, message_of, sdk_errors, status_of
from stackwright.adapters.openstack.transport.shapes import answering
from stackwright.adapters.threads import LibraryFailed, Workers
from stackwright.core.digest import digest
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.openstack.clouds import CALL_SECONDS
from stackwright.core.plan.accounts import TRUSTEE_PASSWORD, EnsureIdentityAccount

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")
CONFIRM = 2.0  # seconds between two refused log-ins of a service, which prove that its password must be set
RECEIVED = 16 << 20  # bytes of all responses of a call
PROJECT = "service"
DOMAIN_ID = "default"  # the domain `Default` that Keystone's bootstrap creates


class KeystoneIdentity:
    """core.ports.Provider of EnsureIdentityAccount; connections are cached by a digest of their credentials."""

    def __init__(self) -> None:
        self._workers = Workers()
        self._connections: dict[str, Connection] = {}
        self._lock = threading.Lock()

    async def account(self, action: EnsureIdentityAccount, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        require_credentials(admin, action.admin_secret)
        await self._asked(action, admin, lambda: self._ensure(action, admin, own))

    async def missing(
        self, action: EnsureIdentityAccount, admin: Mapping[str, str], own: Mapping[str, str] | None
    ) -> str:
        require_credentials(admin, action.admin_secret)
        return await self._asked(action, admin, lambda: self._check(action, admin, own))

    async def _asked(self, action: EnsureIdentityAccount, admin: Mapping[str, str], what: Callable[[], T]) -> T:
        """Call `what` in a thread. All its requests, and the wait for a thread, have CALL_SECONDS together."""
        try:
            return await self._workers.call(action.secret[0], CALL_SECONDS, what, RECEIVED)
        except TimeoutError:
            raise TransientError(
                f"Keystone at {admin['auth_url']} takes longer than {CALL_SECONDS:.0f} s to answer"
            ) from None

    def _check(self, action: EnsureIdentityAccount, admin: Mapping[str, str], own: Mapping[str, str] | None) -> str:
        with self._administrator(action, admin) as identity:
            return _missing(identity, action.spec, admin["auth_url"], own)

    def _ensure(self, action: EnsureIdentityAccount, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        with self._administrator(action, admin) as identity:
            if action.absent:
                _remove(identity, action.spec)
            else:
                _ensure_user(identity, action.spec, admin["auth_url"], own)
                _ensure_catalog(identity, action.spec)

    @contextmanager
    def _administrator(self, action: EnsureIdentityAccount, admin: Mapping[str, str]) -> Iterator[Any]:
        """Keystone's API with the administrator's connection; SDK errors become errors of the port (`error_of`)."""
        try:
            with answering():
                yield self._connection(admin).identity
        except sdk_errors(LibraryFailed) as error:
            with self._lock:  # a recreated Keystone has another catalog and other tokens
                self._connections.pop(_credentials(admin), None)
            raise error_of(action, admin["auth_url"], error) from None

    def _connection(self, admin: Mapping[str, str]) -> Connection:
        key = _credentials(admin)
        with self._lock:
            if key not in self._connections:
                self._connections[key] = connect_as(admin, identity_url=admin["auth_url"])
            return self._connections[key]


def _credentials(admin: Mapping[str, str]) -> str:
    return digest(sorted(admin.items()))


def _ensure_user(identity: Any, spec: Mapping[str, Any], auth_url: str, own: Mapping[str, str]) -> None:
    """Create or update the project, the user with its password, and exactly these roles in the project."""
    project = next(identity.projects(name=PROJECT, domain_id=DOMAIN_ID), None)
    if project is None:
        project = identity.create_project(name=PROJECT, domain_id=DOMAIN_ID, description="Services of the cloud")
    account = _Account(identity, auth_url, own["password"])
    user = account(spec["username"], DOMAIN_ID, default_project_id=project.id)
    known = {role.name: role for role in identity.roles()}
    wanted = [known.get(role) or identity.create_role(name=role) for role in spec["roles"]]
    for role in wanted:
        identity.assign_project_role_to_user(project, user, role)
    ids = {role.id for role in wanted}
    for each in list(identity.role_assignments(user_id=user.id, scope_project_id=project.id)):
        if each.role["id"] not in ids and "OS-INHERIT:inherited_to" not in each.scope:
            identity.unassign_project_role_from_user(project.id, user.id, each.role["id"])
    trustees.ensure(identity, spec, _Account(identity, auth_url, own.get(TRUSTEE_PASSWORD, "")))


@dataclass(frozen=True, repr=False)
class _Account:
    """Creates or corrects a user with this password. `more` are fields of a created one."""

    identity: Any
    auth_url: str
    password: str

    def __call__(self, name: str, domain_id: str, **more: str) -> Any:
        # Without this option, a client that knows the name could lock the service out by failed logins.
        fields = {"password": self.password, "options": {"ignore_lockout_failure_attempts": True}, "is_enabled": True}
        user = next(self.identity.users(name=name, domain_id=domain_id), None)
        if user is None:
            return self.identity.create_user(name=name, domain_id=domain_id, **fields, **more)
        if not user.is_enabled or not _password_works(self.auth_url, user.id, self.password):
            self.identity.update_user(user, **fields)
        return user


def _password_works(auth_url: str, user_id: str, password: str) -> bool:
    """Whether one of two log-ins succeeds: a new password ends the tokens of a running service."""
    if _logs_in(auth_url, user_id, password):
        return True
    time.sleep(CONFIRM)
    return _logs_in(auth_url, user_id, password)


def _logs_in(auth_url: str, user_id: str, password: str) -> bool:
    """Whether an unscoped log-in succeeds, which needs no role."""
    from keystoneauth1.exceptions import Unauthorized
    from keystoneauth1.identity.v3 import Password
    from keystoneauth1.session import Session

    session = Session(auth=Password(auth_url=auth_url, user_id=user_id, password=password, unscoped=True), timeout=30)
    bound(session.session)
    try:
        session.get_token()
    except Unauthorized:
        return False
    return True


def _ensure_catalog(identity: Any, spec: Mapping[str, Any]) -> None:
    """Create or update the service, and exactly the endpoints of the spec in its region."""
    description = spec.get("description") or ""
    service = _service(identity, spec)
    if service is None:
        service = identity.create_service(name=spec["serviceName"], type=spec["serviceType"], description=description)
    elif (service.description or "") != description:
        identity.update_service(service, description=description)
    region, wanted = _region(spec), _urls(spec)
    current = _endpoints(identity, service, region)
    if wanted.keys() - current.keys() and identity.find_region(region) is None:
        identity.create_region(id=region)
    for interface, url in wanted.items():
        if not (same := current.pop(interface, [])):
            identity.create_endpoint(service_id=service.id, interface=interface, region_id=region, url=url)
        elif same[0].url != url:
            identity.update_endpoint(same[0], url=url)
        for each in same[1:]:  # Keystone accepts several of one interface
            identity.delete_endpoint(each)
    for each in chain.from_iterable(current.values()):
        identity.delete_endpoint(each)


def _missing(identity: Any, spec: Mapping[str, Any], auth_url: str, own: Mapping[str, str] | None) -> str:
    name = spec["username"]
    user = next(identity.users(name=name, domain_id=DOMAIN_ID), None)
    if user is None or not (own is None or _password_works(auth_url, user.id, own["password"])):
        return f"user {name}"
    if own is None:
        return "" if _service(identity, spec) else f"service {spec['serviceName']}"
    project = next(identity.projects(name=PROJECT, domain_id=DOMAIN_ID), None)
    if project is None:
        return f"project {PROJECT}"
    names = {role.id: role.name for role in identity.roles()}
    assigned = identity.role_assignments(user_id=user.id, scope_project_id=project.id)
    held = {names.get(each.role["id"]) for each in assigned}
    if lost := [role for role in spec["roles"] if role not in held]:
        return f"role {', '.join(lost)} of user {name}"
    service = _service(identity, spec)
    if service is None:
        return f"service {spec['serviceName']}"
    current = _endpoints(identity, service, _region(spec))
    gone = [face for face, url in _urls(spec).items() if [each.url for each in current.get(face, ())] != [url]]
    if gone:
        return f"endpoint {', '.join(gone)} of service {spec['serviceName']}"
    return trustees.missing(identity, spec, lambda user: _password_works(auth_url, user, own[TRUSTEE_PASSWORD]))


def _region(spec: Mapping[str, Any]) -> str:
    return str(spec.get("region") or "RegionOne")


def _urls(spec: Mapping[str, Any]) -> dict[str, str]:
    """Interface → URL."""
    return {interface: url for interface, url in spec["endpoints"].items() if url}


def _endpoints(identity: Any, service: Any, region: str) -> dict[str, list[Any]]:
    """Interface → endpoints of a service in a region."""
    found: dict[str, list[Any]] = {}
    for each in identity.endpoints(service_id=service.id):
        if each.region_id == region:
            found.setdefault(each.interface, []).append(each)
    return found


def _remove(identity: Any, spec: Mapping[str, Any]) -> None:
    """Delete users and service; Keystone deletes its endpoints with it. Project, roles and domain are kept."""
    service = _service(identity, spec)
    if service is not None:
        identity.delete_service(service)
    for user in trustees.listed(lambda: identity.users(name=spec["username"], domain_id=DOMAIN_ID)):
        identity.delete_user(user)
    trustees.remove(identity, spec)


def _service(identity: Any, spec: Mapping[str, Any]) -> Any | None:
    """The service; None if a list lacks it.

    A list without Keystone's own service, which its bootstrap creates, is wrong: it would lead to a second service.
    """
    wanted = {"type": spec["serviceType"], "name": spec["serviceName"]}
    if found := next(identity.services(**wanted), None):
        return found
    if next(identity.services(type="identity"), None) is None:
        raise TransientError("Keystone lists no service of the type identity, so the list is not complete")
    return next(identity.services(**wanted), None)


def error_of(action: EnsureIdentityAccount, auth_url: str, error: Exception) -> Exception:
    """The error of the port for an SDK error, by its HTTP status if it has one."""
    where = f"Keystone at {auth_url}"
    status = status_of(error)
    if status == 401:
        secret = "/".join(action.admin_secret)
        return TerminalError(f"{where} refuses the administrator's password: check the password in Secret {secret}")
    message = message_of(error)
    if isinstance(error, LibraryFailed):
        return TransientError(f"{where}: {message}")
    if status == 409:  # another service created a shared entry first; the next try finds it
        return TransientError(f"{where}: another client created it at the same time: {message}")
    if 400 <= status < 500 and status not in (404, 408, 429):
        return TerminalError(f"{where} refuses to {action.target}: HTTP {status} {message}")
    return TransientError(f"{where} is unavailable: {f'HTTP {status}' if status else type(error).__name__} {message}")
