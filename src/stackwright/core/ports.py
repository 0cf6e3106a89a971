"""Ports: the operator's interfaces to external systems, as Protocols. Adapters implement them, tests fake them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from stackwright.api.meta import Kind
from stackwright.core.errors import TerminalError
from stackwright.core.plan import DeleteAgents, EnsureAccount, HelmUpgrade, Inventory, Key, Object

if TYPE_CHECKING:
    from stackwright.core.openstack.clouds import Clouds

A = TypeVar("A", bound=EnsureAccount, contravariant=True)
Patch = Object | list[Object]  # a JSON merge patch, or the operations of a JSON patch
CHECK_SECONDS = 10  # for the check of one account, whose thread ends with it


@dataclass(frozen=True)
class Labels:
    """A label selector with equality requirements only."""

    equal: Mapping[str, str]

    def __str__(self) -> str:
        return ",".join(f"{k}={v}" for k, v in sorted(self.equal.items()))


class Reader(Protocol):
    """Read access to the Kubernetes API; `observe` may use nothing else.

    Raises NotServed only if the API was proven not to serve the kind, because a controller may conclude that no object
    of it exists.
    """

    async def get(self, kind: Kind, key: Key) -> Object | None:
        """The object, or None when it does not exist."""

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        """Objects of a namespace (empty: all namespaces) with all these labels."""


class Cluster(Reader, Protocol):
    """The Kubernetes API."""

    async def apply(self, kind: Kind, obj: Object, manager: str) -> Object:
        """Server-side apply; unknown fields are errors. Raises TerminalError if the object is invalid, and Conflict if
        its metadata has a uid or a resourceVersion that the stored object does not have.
        """

    async def create(self, kind: Kind, obj: Object, manager: str) -> Object:
        """Create an object. Raises Conflict if one of this name exists."""

    async def apply_status(self, kind: Kind, obj: Object, manager: str) -> Object:
        """Server-side apply of the status subresource. Raises UndeclaredStatus if the CRD lacks some of its fields."""

    async def patch(self, kind: Kind, key: Key, patch: Patch) -> Object:
        """Patch an object; if the patch sets metadata.resourceVersion, it raises Conflict when the object changed."""

    async def delete(self, kind: Kind, key: Key, uid: str = "") -> None:
        """Delete in the background; an absent object is not an error. Raises Conflict if the object has another uid."""

    async def event(self, obj: Object, reason: str, message: str, warning: bool) -> None:
        """Record an Event about an object."""


@dataclass(frozen=True)
class Release:
    """A Helm release, from the records of its newest revisions."""

    name: str
    revision: int
    namespace: str
    state: str  # status from Helm: deployed, failed, pending-install, pending-upgrade, pending-rollback, uninstalling …
    digest: str
    updated: float  # seconds since the epoch
    deployed_revision: int = 0  # newest earlier revision that was deployed
    secret: str = ""  # name of the Secret with the newest record
    bundle: str = ""  # HelmBundle of the release, as `bundle_label`; empty for records older than that label
    cause: str = ""  # error message from Helm


class Helm(Protocol):
    async def upgrade(self, action: HelmUpgrade) -> None:
        """`helm upgrade --install` without --wait. Raises TerminalError with Helm's message if the chart is broken."""

    async def rollback(self, release: Key, revision: int, manifest: str) -> None:
        """Raises TerminalError if the record of the revision has another `manifest_digest` than `manifest`."""

    async def uninstall(self, release: Key) -> None:
        """Uninstall a release; an absent one is not an error."""


class Provider(Protocol[A]):
    """The accounts of one kind: those in a MariaDB, in a RabbitMQ, or in Keystone."""

    async def account(self, action: A, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        """Create, update or delete an account.

        own  fields of the Secret of the account, with its passwords; empty for a deletion
        """

    async def missing(self, action: A, admin: Mapping[str, str], own: Mapping[str, str] | None) -> str:
        """Text that names the missing parts of the account; empty if complete. Raises TransientError if it cannot be
        checked.

        own  None: check only that the names exist, which never change, and not the passwords or the rights
        """


Providers = Mapping[type[EnsureAccount], Provider[Any]]  # by the class of the action; see `provided`


def provided(action: type[A], by: Provider[A]) -> tuple[type[EnsureAccount], Provider[Any]]:
    """An entry of Providers, of whose parts mypy checks that they belong together."""
    return action, by


class Accounts(Protocol):
    async def missing(
        self, action: EnsureAccount, provider: str, changed: bool = False, before: bool = False
    ) -> str | None:
        """Text that names the parts of an account its provider no longer has; empty if complete.

        Returns None if the account cannot be checked; the action that creates it reports the cause. Raises
        TransientError if the provider is unreachable now.

        provider  identifies the provider and its start time; after a change it is queried again
        changed   the account was created with another password or other properties: only check that the names exist
        before    an earlier process has seen the account at this provider since the provider started
        """


class Unchecked:
    """core.ports.Accounts for plans and tests: it reports every account as complete."""

    async def missing(
        self, action: EnsureAccount, provider: str, changed: bool = False, before: bool = False
    ) -> str | None:
        return ""


class Contents(Protocol):
    async def held(self, action: Inventory, admin: Mapping[str, str]) -> dict[str, list[str]]:
        """Back end → names of the images or volumes in it; agent → its uses, as texts. Raises TransientError if the
        service does not respond.
        """


class Agents(Protocol):
    async def forget(self, action: DeleteAgents, admin: Mapping[str, str]) -> dict[str, str]:
        """Delete the records of agents; an absent one is not an error. Returns agent → error for agents that remain,
        and for those whose absence a second list, seconds later, does not prove.

        Raises TransientError or TerminalError if none could be deleted.
        """


class Directories(Protocol):
    """Directories of this node, all directly below one root; any other path raises TerminalError."""

    async def make(self, path: str) -> None:
        """Create a directory that only root can access, whatever the umask, and sync it. An existing one is kept."""

    async def remove(self, path: str) -> None:
        """Remove a directory with its content; an absent one is not an error."""

    async def holds(self, path: str) -> bool:
        """Whether the directory exists. Raises TransientError if that cannot be determined, TerminalError for a
        path elsewhere.
        """


class Absent:
    """A substitute for a port that a process does not have: every use raises TerminalError."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TerminalError(f"this process has no {self._what}")


def absent(what: str) -> Any:
    return Absent(what)


NO_DIRECTORIES: Directories = absent("directories of a node")
NO_CONTENTS: Contents = absent("access to users' resources")
NO_AGENTS: Agents = absent("access to agents of nodes")
UNCHECKED: Accounts = Unchecked()
Fence = Callable[[], None]  # raises unless this process may write now (runtime/lease)


def unfenced() -> None:
    """A Fence of processes that write without a Lease: commands, the provisioner, plans."""


NO_CLOUDS: Clouds = absent("access to an OpenStack")


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""


class Entropy(Protocol):
    def password(self) -> str:
        """32 random letters and digits."""

    def fernet_key(self) -> str:
        """A url-safe base64 key of 32 bytes."""


@dataclass(frozen=True)
class Ports:
    """All ports, for the executor, which calls `fence` before each action."""

    cluster: Cluster
    helm: Helm
    clock: Clock
    entropy: Entropy
    providers: Providers = field(default_factory=dict)
    directories: Directories = NO_DIRECTORIES
    contents: Contents = NO_CONTENTS
    agents: Agents = NO_AGENTS
    clouds: Clouds = NO_CLOUDS
    fence: Fence = unfenced

    def provider(self, action: A) -> Provider[A]:
        """The provider that executes the action. Raises TerminalError if this process has none."""
        try:
            return self.providers[type(action)]
        except KeyError:
            raise TerminalError(f"this process has no provider of accounts to {action.target}") from None
