"""Ports: what the operator needs of the outside world, as Protocols. Adapters implement them, tests fake them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from stackwright.api.meta import Kind
from stackwright.core.plan import Account, BrokerAccount, CatalogEntry, HelmUpgrade, Inventory, Key, Object, SqlAccount

if TYPE_CHECKING:
    from stackwright.core.openstack.clouds import Clouds


class NotYet(Exception):
    """A foreign system cannot serve now; the text says which and why. Tried again with backoff, or `after` seconds."""

    reason = "Waiting"
    after: float | None = None


class NotServed(NotYet):
    """The Kubernetes API has no such kind, at least not yet: what defines it is not installed."""

    reason = "KindMissing"


class StillMissing(NotYet):
    """What was made is not there: making it once more at once would go on without end."""

    reason = "AccountMissing"


class Refused(Exception):
    """A foreign system will not do what was asked until somebody changes the request; the text says what."""

    reason = "BlockedRefused"


class Conflict(Exception):
    """An object changed meanwhile; look again at once, and at that object (`kind`, `key`) too."""

    def __init__(self, text: str, kind: Kind, key: Key) -> None:
        super().__init__(text)
        self.kind, self.key = kind, key


@dataclass(frozen=True)
class Labels:
    """Label selector: equality only."""

    equal: Mapping[str, str]

    def __str__(self) -> str:
        return ",".join(f"{k}={v}" for k, v in sorted(self.equal.items()))


class Reader(Protocol):
    """Reads of the Kubernetes API; all that `observe` may use."""

    async def get(self, kind: Kind, key: Key) -> Object | None:
        """The object, or None when it does not exist."""

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        """Objects of a namespace (empty: all), by equality of labels."""


class Cluster(Reader, Protocol):
    """The Kubernetes API."""

    async def apply(self, kind: Kind, obj: Object, manager: str) -> Object:
        """Server-side apply; unknown fields are errors. Raises Refused when the object is invalid. With a uid or a
        resourceVersion in its metadata, Conflict unless that is the object.
        """

    async def create(self, kind: Kind, obj: Object, manager: str) -> Object:
        """A new object. Raises Conflict if there is one of its name."""

    async def apply_status(self, kind: Kind, obj: Object, manager: str) -> Object:
        """Server-side apply of the status subresource."""

    async def patch(self, kind: Kind, key: Key, patch: Object) -> Object:
        """JSON merge patch; with metadata.resourceVersion in it, Conflict when the object changed."""

    async def delete(self, kind: Kind, key: Key, uid: str = "") -> None:
        """Delete in the background; an absent object is fine. With a uid: Conflict when another one has its name."""

    async def event(self, obj: Object, reason: str, message: str, warning: bool) -> None:
        """Record an Event about an object."""


@dataclass(frozen=True)
class Release:
    """What the cluster knows of a Helm release: its newest revisions' records."""

    name: str
    revision: int
    namespace: str
    state: str  # Helm's word: deployed, failed, pending-install, pending-upgrade, pending-rollback, uninstalling …
    digest: str
    updated: float  # seconds since the epoch
    deployed_revision: int = 0  # newest revision before this one that was deployed and got ready
    secret: str = ""  # name of the Secret of the newest record
    bundle: str = ""  # the HelmBundle that it belongs to, as `bundle_label`; empty for a record from before that label
    cause: str = ""  # why it failed, in Helm's words


class Helm(Protocol):
    async def upgrade(self, action: HelmUpgrade) -> None:
        """`helm upgrade --install`, not waiting. Raises Refused with helm's reason when the chart is broken."""

    async def rollback(self, release: Key, revision: int) -> None: ...

    async def uninstall(self, release: Key) -> None:
        """An absent release is fine."""


class Sql(Protocol):
    async def account(self, action: SqlAccount, admin: Mapping[str, str], password: str) -> None: ...

    async def missing(self, action: SqlAccount, admin: Mapping[str, str], password: str | None) -> str:
        """What of the account is not there, in words; empty if all is. Raises NotYet when nobody can tell.

        password  None: its names alone count, which never change; password, rights and the like may be any
        """


class Broker(Protocol):
    async def account(self, action: BrokerAccount, admin: Mapping[str, str], password: str) -> None: ...

    async def missing(self, action: BrokerAccount, admin: Mapping[str, str], password: str | None) -> str:
        """What of the account is not there, in words; empty if all is. Raises NotYet when nobody can tell.

        password  None: its names alone count, which never change; password, rights and the like may be any
        """


class Identity(Protocol):
    async def entry(self, action: CatalogEntry, admin: Mapping[str, str], password: str) -> None: ...

    async def missing(self, action: CatalogEntry, admin: Mapping[str, str], password: str | None) -> str:
        """What of the account is not there, in words; empty if all is. Raises NotYet when nobody can tell.

        password  None: its names alone count, which never change; password, rights and the like may be any
        """


class Accounts(Protocol):
    async def missing(self, action: Account, provider: str, changed: bool = False, before: bool = False) -> str | None:
        """What of an account is not at its provider any more, in words; empty if all is; None if it cannot be asked
        for, which whatever makes the account tells.

        Raises NotYet when nobody can tell now.

        provider  identifies the provider and the time since which it serves; another one is asked anew
        changed   the account was made with another password or other properties: its names alone count
        before    an earlier process has seen the account at this provider since that serves
        """


class Unchecked:
    """core.ports.Accounts for plans and tests: nothing is ever missing."""

    async def missing(self, action: Account, provider: str, changed: bool = False, before: bool = False) -> str | None:
        return ""


class Contents(Protocol):
    async def held(self, action: Inventory, admin: Mapping[str, str]) -> dict[str, list[str]]:
        """Back end → names of the images or volumes in it. Raises NotYet when the service cannot be asked."""


class Directories(Protocol):
    """Directories of this node, all directly below one root; a path elsewhere is refused."""

    async def make(self, path: str) -> None:
        """For root only, whatever the umask; it is on disk when this returns. One that is there is kept."""

    async def remove(self, path: str) -> None:
        """With all that is in it; an absent one is fine."""

    async def holds(self, path: str) -> bool:
        """Whether the directory is there. Raises NotYet when nobody can tell, Refused for a path elsewhere."""


class Absent:
    """In the place of a port that a process does not have: it refuses whatever it is asked."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused(f"this process has no {self._what}")


def absent(what: str) -> Any:
    return Absent(what)


NO_DIRECTORIES: Directories = absent("directories of a node")
NO_CONTENTS: Contents = absent("way to ask what users have")
UNCHECKED: Accounts = Unchecked()
NO_CLOUDS: Clouds = absent("way into an OpenStack")


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
    """All of them, as the executor gets them."""

    cluster: Cluster
    helm: Helm
    sql: Sql
    broker: Broker
    identity: Identity
    clock: Clock
    entropy: Entropy
    directories: Directories = NO_DIRECTORIES
    contents: Contents = NO_CONTENTS
    clouds: Clouds = NO_CLOUDS


NO_TEXT = "surrogateescape"  # how bytes that are no text stand in a text


def secret_data(secret: Any) -> dict[str, str]:
    """The decoded data of a Secret from the API. What is no UTF-8 can be had back by encoding with NO_TEXT."""
    import base64

    return {k: base64.b64decode(v).decode(errors=NO_TEXT) for k, v in ((secret or {}).get("data") or {}).items()}
