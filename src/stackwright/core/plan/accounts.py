"""Actions on accounts: one class for each kind of account, whose provider executes it (core.ports.Provider)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.core.plan.action import Action, Key

TRUSTEE_PASSWORD = "trustee_password"  # noqa: S105 - the name of a field
"""Field of the Secret of an account in Keystone with the password of the administrator of its domain."""


@dataclass(frozen=True, kw_only=True)
class EnsureAccount(Action):
    """Creates or updates an account, or with `absent` deletes it.

    admin_secret  the Secret with the credentials of the provider's administrator
    secret        the Secret with the passwords of the account
    """

    admin_secret: Key
    secret: Key
    absent: bool = False

    @property
    def passwords(self) -> tuple[str, ...]:
        """Fields of `secret`."""
        return ("password",)

    @property
    def lost_data(self) -> tuple[str, ...]:
        """The data of users that this action deletes, as texts."""
        return ()


@dataclass(frozen=True, kw_only=True)
class EnsureDatabaseAccount(EnsureAccount):
    """Database and user in a MariaDB."""

    verb = "sql"
    host: str
    database: str
    username: str
    grants: tuple[str, ...]
    dropped: tuple[str, ...] = ()  # databases to drop with the account
    additional: tuple[str, ...] = ()  # further databases with the same grants

    @property
    def target(self) -> str:
        what = "drop" if self.absent else "create"
        dropped = "".join(f" and database {name}" for name in self.dropped)
        return f"{what} user {self.username}{dropped if self.absent else f', database {self.database}'} at {self.host}"

    @property
    def lost_data(self) -> tuple[str, ...]:
        return tuple(f"database {name} at {self.host}" for name in self.dropped) if self.absent else ()


@dataclass(frozen=True, kw_only=True)
class EnsureMessagingAccount(EnsureAccount):
    """Virtual host and user in a RabbitMQ."""

    verb = "amqp"
    host: str
    vhost: str
    username: str
    keep_vhost: bool = False  # other accounts use it too

    @property
    def target(self) -> str:
        vhost = "" if self.absent and self.keep_vhost else f"vhost {self.vhost}, "
        return f"{'delete' if self.absent else 'create'} {vhost}user {self.username} at {self.host}"


@dataclass(frozen=True, kw_only=True)
class EnsureIdentityAccount(EnsureAccount):
    """Service, endpoints and service user in Keystone, and the administrator of its domain.

    spec  a KeystoneServiceSpec as a dict
    """

    verb = "keystone"
    spec: Mapping[str, Any]

    @property
    def target(self) -> str:
        name = self.spec["serviceName"]
        return f"{'delete' if self.absent else 'create'} service {name}, endpoints, user {self.spec['username']}"

    @property
    def passwords(self) -> tuple[str, ...]:
        return ("password", TRUSTEE_PASSWORD) if self.spec.get("trustee") else ("password",)
