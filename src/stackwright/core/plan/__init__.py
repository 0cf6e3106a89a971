"""A Plan: the actions and status that a controller decides on, as data.

The operator executes it, `stackwright plan` prints it, tests compare it. An action names everything it needs and
holds no secret: it references passwords by the Secret that contains them, and the executor generates them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stackwright.api.meta import Kind
from stackwright.core.conditions import Condition, summary

Object = dict[str, Any]
Key = tuple[str, str]  # namespace, name


@dataclass(frozen=True)
class Action:
    """One step of a plan. `why`, where present, is the reason in words, for plans and logs."""

    verb: ClassVar[str] = ""

    @property
    def target(self) -> str:
        raise NotImplementedError  # pragma: no cover

    def __str__(self) -> str:
        return f"{self.verb} {self.target}"


@dataclass(frozen=True)
class Apply(Action):
    """Server-side apply of an object. Its annotation stackwright.dev/digest is the digest of the last apply."""

    verb = "apply"
    kind: Kind
    obj: Object
    why: str = ""

    @property
    def target(self) -> str:
        meta = self.obj["metadata"]
        return f"{self.kind.kind} {meta.get('namespace', '')}/{meta['name']}"


@dataclass(frozen=True)
class Delete(Action):
    verb = "delete"
    kind: Kind
    key: Key
    why: str = ""

    @property
    def target(self) -> str:
        return f"{self.kind.kind} {'/'.join(self.key)}"


@dataclass(frozen=True)
class Finalizer(Action):
    """Adds or removes our finalizer on the reconciled object.

    note  annotations to write with it
    """

    verb = "finalizer"
    kind: Kind
    obj: Object
    present: bool
    note: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        meta = self.obj["metadata"]
        return f"{'on' if self.present else 'off'} {self.kind.kind} {meta.get('namespace', '')}/{meta['name']}"


@dataclass(frozen=True)
class SetLabel(Action):
    """Sets one label of an object that another controller owns, e.g. a Pod of a StatefulSet."""

    verb = "label"
    kind: Kind
    key: Key
    label: str
    value: str

    @property
    def target(self) -> str:
        return f"{self.kind.kind} {'/'.join(self.key)} {self.label}={self.value}"


@dataclass(frozen=True)
class SetStatus(Action):
    """Applies status fields of an object that is not ours, e.g. that an IP address claim is fulfilled."""

    verb = "tell"
    kind: Kind
    obj: Object
    status: Mapping[str, Any]

    @property
    def target(self) -> str:
        meta = self.obj["metadata"]
        return f"{self.kind.kind} {meta.get('namespace', '')}/{meta['name']}"


@dataclass(frozen=True)
class GrowClaim(Action):
    """Requests a larger size of a PersistentVolumeClaim. A refusal only causes an Event: the old size still works."""

    verb = "grow"
    claim: Object
    size: str

    @property
    def target(self) -> str:
        meta = self.claim["metadata"]
        return f"PersistentVolumeClaim {meta.get('namespace', '')}/{meta['name']} to {self.size}"


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
    verb = "helm rollback"
    release: Key
    revision: int

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
    """Service, endpoints and service user in Keystone. `spec` is a KeystoneServiceSpec as a dict."""

    verb = "keystone"
    admin_secret: Key
    spec: Mapping[str, Any]
    secret: Key
    absent: bool = False

    @property
    def target(self) -> str:
        name = self.spec["serviceName"]
        return f"{'delete' if self.absent else 'create'} service {name}, endpoints, user {self.spec['username']}"


Account = SqlAccount | BrokerAccount | CatalogEntry


@dataclass(frozen=True)
class Inventory(Action):
    """Lists what users own in back ends of a service, and writes it to a ConfigMap: held.json, back end → names."""

    verb = "look into"
    key: Key
    owner: Object
    service: str
    backends: tuple[str, ...]
    admin_secret: Key
    digest: str

    @property
    def target(self) -> str:
        return f"{self.service} {', '.join(self.backends)}"


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


@dataclass(frozen=True)
class Warn(Action):
    """A warning Event about an object that has no conditions of ours, e.g. a claim that cannot be provisioned."""

    verb = "warn"
    obj: Object
    reason: str
    message: str

    @property
    def target(self) -> str:
        meta = self.obj["metadata"]
        return f"{self.obj['kind']} {meta.get('namespace', '')}/{meta['name']}: {self.message}"


@dataclass(frozen=True)
class Plan:
    """Actions to execute, status to report, and time of the next reconcile.

    actions     in order; the first failure ends the execution, and the object is retried with backoff
    conditions  Ready and Progressing first, then one per stage
    status      further top-level status fields of this controller; always the same set of fields
    requeue     seconds until the next reconcile without an event; None for never
    """

    actions: tuple[Action, ...] = ()
    conditions: tuple[Condition, ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict)
    requeue: float | None = None

    @property
    def empty(self) -> bool:
        return not self.actions


def staged(
    stages: Sequence[Condition],
    status: Mapping[str, Any],
    actions: tuple[Action, ...] = (),
    requeue: float | None = None,
) -> Plan:
    """A plan that reports stages, and Ready and Progressing as their summary."""
    return Plan(actions, (*summary(stages), *stages), status, requeue)
