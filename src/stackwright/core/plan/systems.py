"""Actions on other systems: Helm, databases, message brokers, Keystone, directories of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from stackwright.core.openstack.deployed.agents import display_names
from stackwright.core.plan.action import Action, Key, Object

TRUSTEE_PASSWORD = "trustee_password"  # noqa: S105 - the name of a field
"""Field of the Secret of an account in Keystone with the password of the administrator of its domain."""


@dataclass(frozen=True)
class HelmUpgrade(Action):
    verb = "helm upgrade --install"
    release: Key
    chart: str
    version: str
    values: Mapping[str, Any]
    digest: str
    owner: Object

    @property
    def target(self) -> str:
        return "/".join(self.release)


@dataclass(frozen=True)
class HelmRollback(Action):
    """manifest  digest of what Helm installed as this revision; a record with other content is not rolled back to"""

    verb = "helm rollback"
    release: Key
    revision: int
    manifest: str

    @property
    def target(self) -> str:
        return f"{'/'.join(self.release)} to revision {self.revision}"


@dataclass(frozen=True)
class HelmUninstall(Action):
    verb = "helm uninstall"
    release: Key

    @property
    def target(self) -> str:
        return "/".join(self.release)


@dataclass(frozen=True)
class SqlAccount(Action):
    """Database and user in a MariaDB; the password is in `secret`, that of root in `admin_secret`."""

    verb = "sql"
    passwords: ClassVar[tuple[str, ...]] = ("password",)  # fields of `secret`
    host: str
    admin_secret: Key
    database: str
    username: str
    grants: tuple[str, ...]
    secret: Key
    absent: bool = False
    dropped: tuple[str, ...] = ()  # databases to drop with the account
    additional: tuple[str, ...] = ()  # further databases with the same grants

    @property
    def target(self) -> str:
        what = "drop" if self.absent else "create"
        dropped = "".join(f" and database {name}" for name in self.dropped)
        return f"{what} user {self.username}{dropped if self.absent else f', database {self.database}'} at {self.host}"


@dataclass(frozen=True)
class BrokerAccount(Action):
    """Virtual host and user in a RabbitMQ."""

    verb = "amqp"
    passwords: ClassVar[tuple[str, ...]] = ("password",)  # fields of `secret`
    host: str
    admin_secret: Key
    vhost: str
    username: str
    secret: Key
    absent: bool = False
    keep_vhost: bool = False  # other accounts use it too

    @property
    def target(self) -> str:
        vhost = "" if self.absent and self.keep_vhost else f"vhost {self.vhost}, "
        return f"{'delete' if self.absent else 'create'} {vhost}user {self.username} at {self.host}"


@dataclass(frozen=True)
class CatalogEntry(Action):
    """Service, endpoints and service user in Keystone, and the administrator of its domain.

    spec  a KeystoneServiceSpec as a dict
    """

    verb = "keystone"
    admin_secret: Key
    spec: Mapping[str, Any]
    secret: Key
    absent: bool = False

    @property
    def target(self) -> str:
        name = self.spec["serviceName"]
        return f"{'delete' if self.absent else 'create'} service {name}, endpoints, user {self.spec['username']}"

    @property
    def passwords(self) -> tuple[str, ...]:
        return ("password", TRUSTEE_PASSWORD) if self.spec.get("trustee") else ("password",)


Account = SqlAccount | BrokerAccount | CatalogEntry


@dataclass(frozen=True)
class Inventory(Action):
    """Lists users' resources in back ends of a service and writes them to a ConfigMap: held.json, holder → names;
    since, the time of the first of the successive inventories with this result. Its digest is the time of the result.

    holders  names of back ends, or of agents as `registered` returns them
    """

    verb = "list the content of"
    key: Key
    owner: Object
    service: str
    holders: tuple[str, ...]
    admin_secret: Key

    @property
    def target(self) -> str:
        return f"{self.service} {display_names(self.holders)}"


@dataclass(frozen=True)
class DeleteAgents(Action):
    """Deletes the records of unused agents whose nodes left the cloud, after their routers and networks were moved to
    other agents. Writes the outcome to the ConfigMap of the inventory: held.json, agent → its uses, as texts, or the
    error (none for a deleted agent), and the times as an inventory. Such an error does not fail the action, because no
    other action depends on it.

    look    the inventory of all leaving agents, to which no routers or networks are moved
    agents  names of the agents to delete, as `registered` returns them; if empty, an earlier outcome is deleted
    """

    verb = "delete if unused"
    look: Inventory
    agents: tuple[str, ...]

    @property
    def target(self) -> str:
        return f"{display_names(self.agents) or 'no agent'} in {self.look.service}"


@dataclass(frozen=True)
class Publish(Action):
    """A ConfigMap with copies of fields of a Secret that are not confidential; absent fields are skipped."""

    verb = "publish"
    key: Key
    owner: Object
    source: Key
    fields: tuple[str, ...]
    digest: str

    @property
    def target(self) -> str:
        return f"{', '.join(self.fields)} of Secret {'/'.join(self.source)}"


@dataclass(frozen=True)
class MakeDirectory(Action):
    """Creates a directory of this node for a volume; an existing one is kept unchanged."""

    verb = "mkdir"
    path: str
    why: str = ""

    @property
    def target(self) -> str:
        return self.path


@dataclass(frozen=True)
class RemoveDirectory(Action):
    """Removes the directory of a volume with its content; an absent one is not an error."""

    verb = "remove"
    path: str
    why: str = ""

    @property
    def target(self) -> str:
        return self.path
