"""The providers of accounts in memory: what a MariaDB, a RabbitMQ and a Keystone store for the services.

`fail` maps a target (a host, a service) to the exception to raise, until the entry is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.core.errors import TerminalError
from stackwright.core.plan.accounts import (
    TRUSTEE_PASSWORD,
    EnsureDatabaseAccount,
    EnsureIdentityAccount,
    EnsureMessagingAccount,
)
from stackwright.runtime.memory.foreign import maybe_fail


class MemoryDatabase:
    def __init__(self, fail: dict[str, Exception] | None = None) -> None:
        self.calls: list[EnsureDatabaseAccount] = []
        self.users: dict[tuple[str, str], str] = {}
        self.databases: set[tuple[str, str]] = set()
        self.fail = fail if fail is not None else {}

    async def account(self, action: EnsureDatabaseAccount, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        self.calls.append(action)
        maybe_fail(self.fail, action.host)
        if not admin.get("password"):
            raise TerminalError(f"Secret {'/'.join(action.admin_secret)} has no key password")
        databases = {(action.host, name) for name in (action.database, *action.additional)}
        if action.absent:
            self.users.pop((action.host, action.username), None)
            self.databases -= {(action.host, name) for name in action.dropped}
            return
        self.users[action.host, action.username] = own["password"]
        self.databases |= databases

    async def missing(
        self, action: EnsureDatabaseAccount, admin: Mapping[str, str], own: Mapping[str, str] | None
    ) -> str:
        maybe_fail(self.fail, action.host)
        found = self.users.get((action.host, action.username))
        return "" if found and (own is None or own["password"] == found) else f"user {action.username}"


class MemoryMessaging:
    def __init__(self, fail: dict[str, Exception] | None = None) -> None:
        self.calls: list[EnsureMessagingAccount] = []
        self.users: dict[tuple[str, str], str] = {}
        self.vhosts: set[tuple[str, str]] = set()
        self.fail = fail if fail is not None else {}

    async def account(self, action: EnsureMessagingAccount, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        self.calls.append(action)
        maybe_fail(self.fail, action.host)
        if action.absent:
            self.users.pop((action.host, action.username), None)
            if not action.keep_vhost:
                self.vhosts.discard((action.host, action.vhost))
            return
        self.users[action.host, action.username] = own["password"]
        self.vhosts.add((action.host, action.vhost))

    async def missing(
        self, action: EnsureMessagingAccount, admin: Mapping[str, str], own: Mapping[str, str] | None
    ) -> str:
        maybe_fail(self.fail, action.host)
        found = self.users.get((action.host, action.username))
        return "" if found and (own is None or own["password"] == found) else f"user {action.username}"


class MemoryIdentity:
    def __init__(self, fail: dict[str, Exception] | None = None) -> None:
        self.calls: list[EnsureIdentityAccount] = []
        self.users: dict[str, str] = {}
        self.trustees: dict[tuple[str, str], str] = {}  # (domain, name) → password
        self.domains: set[str] = set()
        self.roles: set[str] = set()
        self.catalog: dict[str, Mapping[str, Any]] = {}
        self.fail = fail if fail is not None else {}

    async def account(self, action: EnsureIdentityAccount, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        self.calls.append(action)
        name = str(action.spec["serviceName"])
        maybe_fail(self.fail, name)
        trustee = _trustee(action)
        if action.absent:
            self.users.pop(str(action.spec["username"]), None)
            self.trustees.pop(trustee, None)
            self.catalog.pop(name, None)
            return
        self.users[str(action.spec["username"])] = own["password"]
        self.roles.update(action.spec.get("additionalRoles") or ())
        if trustee[0]:
            self.domains.add(trustee[0])
            self.trustees[trustee] = own[TRUSTEE_PASSWORD]
        self.catalog[name] = action.spec

    async def missing(
        self, action: EnsureIdentityAccount, admin: Mapping[str, str], own: Mapping[str, str] | None
    ) -> str:
        name = str(action.spec["username"])
        maybe_fail(self.fail, str(action.spec["serviceName"]))
        found = self.users.get(name)
        if not found or (own is not None and own["password"] != found):
            return f"user {name}"
        domain, user = trustee = _trustee(action)
        if own is None or not domain or self.trustees.get(trustee) == own[TRUSTEE_PASSWORD]:
            return ""
        return f"user {user} of domain {domain}"


def _trustee(action: EnsureIdentityAccount) -> tuple[str, str]:
    """Domain and name of the administrator of a service's own domain; empty without one."""
    wanted = action.spec.get("trustee") or {}
    return str(wanted.get("domain", "")), str(wanted.get("username", ""))
