"""The providers of accounts in memory: what a MariaDB, a RabbitMQ and a Keystone store for services."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from stackwright.core.errors import TerminalError
from stackwright.core.plan import EnsureAccount
from stackwright.core.plan.accounts import (
    TRUSTEE_PASSWORD,
    EnsureDatabaseAccount,
    EnsureIdentityAccount,
    EnsureMessagingAccount,
)
from stackwright.core.ports import Providers, provided
from stackwright.runtime.memory.foreign import maybe_fail

A = TypeVar("A", bound=EnsureAccount)


class MemoryProvider(Generic[A]):
    """calls  all actions so far
    fail   target of an action (a host, a service) → the exception to raise
    users  name → password; the name contains the host if there may be several providers
    """

    def __init__(self) -> None:
        self.calls: list[A] = []
        self.users: dict[Any, str] = {}
        self.fail: dict[str, Exception] = {}

    @property
    def content(self) -> dict[str, dict[Any, Any] | set[Any]]:
        """What the provider stores, by attribute: users, databases, …"""
        return {name: each for name, each in vars(self).items() if isinstance(each, dict | set) and name != "fail"}


class MemoryDatabase(MemoryProvider[EnsureDatabaseAccount]):
    def __init__(self) -> None:
        super().__init__()
        self.databases: set[tuple[str, str]] = set()

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


class MemoryMessaging(MemoryProvider[EnsureMessagingAccount]):
    def __init__(self) -> None:
        super().__init__()
        self.vhosts: set[tuple[str, str]] = set()

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


class MemoryIdentity(MemoryProvider[EnsureIdentityAccount]):
    def __init__(self) -> None:
        super().__init__()
        self.trustees: dict[tuple[str, str], str] = {}  # (domain, name) → password
        self.domains: set[str] = set()
        self.roles: set[str] = set()
        self.catalog: dict[str, Mapping[str, Any]] = {}

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


class MemoryAccounts:
    """A provider for each kind of account."""

    def __init__(self) -> None:
        self.database = MemoryDatabase()
        self.messaging = MemoryMessaging()
        self.identity = MemoryIdentity()

    def __iter__(self) -> Iterator[MemoryProvider[Any]]:
        return iter(vars(self).values())

    @property
    def calls(self) -> list[EnsureAccount]:
        return [call for each in self for call in each.calls]

    def become_like(self, other: MemoryAccounts) -> None:
        """Store the same content."""
        for mine, theirs in zip(self, other, strict=True):
            vars(mine).update({name: copy.copy(each) for name, each in theirs.content.items()})

    @property
    def providers(self) -> Providers:
        return dict(
            (
                provided(EnsureDatabaseAccount, by=self.database),
                provided(EnsureMessagingAccount, by=self.messaging),
                provided(EnsureIdentityAccount, by=self.identity),
            )
        )
