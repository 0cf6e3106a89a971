"""The domain of users that a service itself creates in Keystone, its administrator, and roles for users of the service.

A domain outlives its service, because its users belong to resources of the service, which are in a database that is
kept, too. Only the administrator is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stackwright.core.errors import TerminalError

Account = Callable[[str, str], Any]
"""(name, id of the domain) → the user with its own password."""
ADMIN = "admin"
DESCRIPTION = "Users that a service of the cloud creates"


def ensure(identity: Any, spec: Mapping[str, Any], account: Account) -> None:
    """Create the roles, the domain, and the user with the role of an administrator there."""
    roles, wanted = spec.get("additionalRoles") or (), spec.get("trustee")
    known = {role.name: role for role in identity.roles()} if roles or wanted else {}
    for name in roles:
        if name not in known:
            identity.create_role(name=name)
    if not wanted:
        return
    admin = known.get(ADMIN) or identity.create_role(name=ADMIN)
    domain = _domain(identity, wanted)
    if domain is None:
        domain = identity.create_domain(name=wanted["domain"], description=DESCRIPTION, is_enabled=True)
    elif domain.description != DESCRIPTION:  # its managers could become administrators of the cloud
        raise TerminalError(
            f"Domain {wanted['domain']} exists and was not created for this service; rename it, or set its "
            f"description to '{DESCRIPTION}'"
        )
    elif not domain.is_enabled:
        raise TerminalError(f"Domain {wanted['domain']} is disabled; enable it")
    user = account(wanted["username"], domain.id)
    if not _administers(identity, user, domain, admin.id):
        identity.assign_domain_role_to_user(domain, user, admin)


def missing(identity: Any, spec: Mapping[str, Any], works: Callable[[str], bool]) -> str:
    """What is missing, as text. `works`: id of a user → whether it can log in with its password."""
    roles, wanted = spec.get("additionalRoles") or (), spec.get("trustee")
    known = {role.name: str(role.id) for role in identity.roles()} if roles or wanted else {}
    if lost := [name for name in roles if name not in known]:
        return f"role {', '.join(lost)}"
    if not wanted:
        return ""
    domain = _domain(identity, wanted)
    if domain is None or not domain.is_enabled:
        return f"domain {wanted['domain']}"
    user = _user(identity, wanted, domain)
    if user is None or not works(user.id):
        return f"user {wanted['username']} of domain {wanted['domain']}"
    if not _administers(identity, user, domain, known.get(ADMIN, "")):
        return f"role {ADMIN} of user {wanted['username']} in domain {wanted['domain']}"
    return ""


def remove(identity: Any, spec: Mapping[str, Any]) -> None:
    if not (wanted := spec.get("trustee")):
        return
    for domain in listed(lambda: identity.domains(name=wanted["domain"])):
        if domain.description == DESCRIPTION:
            for user in listed(lambda: identity.users(name=wanted["username"], domain_id=domain.id)):  # noqa: B023
                identity.delete_user(user)


def listed(look: Callable[[], Iterable[Any]]) -> list[Any]:
    """The items of a list, or of another one if it is empty: a single list that is too short would leave a user."""
    return list(look()) or list(look())


def _domain(identity: Any, wanted: Mapping[str, Any]) -> Any | None:
    return next(identity.domains(name=wanted["domain"]), None)


def _user(identity: Any, wanted: Mapping[str, Any], domain: Any) -> Any | None:
    return next(identity.users(name=wanted["username"], domain_id=domain.id), None)


def _administers(identity: Any, user: Any, domain: Any, role: str) -> bool:
    assigned = identity.role_assignments(user_id=user.id, scope_domain_id=domain.id)
    return any(each.role["id"] == role and "OS-INHERIT:inherited_to" not in each.scope for each in assigned)
