"""The operations of a user on a cloud, as Protocols; the smoke test and the demo use nothing else.

Methods that create a resource by name search for that name first, so each call can be repeated and completes an
interrupted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from stackwright.core.openstack.deployed.agents import Agent


class CloudError(Exception):
    """An API call failed; `passing` if a repeated call may succeed soon."""

    def __init__(self, text: str, *, passing: bool = False) -> None:
        super().__init__(text)
        self.passing = passing


@dataclass(frozen=True)
class Flavor:
    """memory in MiB, disk in GiB."""

    name: str
    cpus: int
    memory: int
    disk: int


@dataclass(frozen=True)
class Rule:
    """A rule of a security group that admits traffic from all addresses; no port means all ports."""

    protocol: str
    port: int | None = None


@dataclass(frozen=True)
class Port:
    id: str
    address: str


@dataclass(frozen=True)
class Boot:
    """A server to create; `image`, `flavor` and `port` are ids."""

    name: str
    image: str
    flavor: str
    key: str
    port: str


@dataclass(frozen=True)
class Server:
    """`fault` is the cloud's own error message; only administrators get `host`; `key` names its key pair."""

    id: str
    status: str
    task: str = ""
    fault: str = ""
    host: str = ""
    key: str = ""


@dataclass(frozen=True)
class Stack:
    """`status` is an action and its state, such as CREATE_COMPLETE; `outputs` are those of its template."""

    id: str
    status: str
    reason: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Order:
    """`secret` is the id of the ordered key, empty until it is generated."""

    status: str
    secret: str = ""


@dataclass(frozen=True)
class Project:
    """A project with one user of the same name. `note` is its description."""

    id: str
    name: str
    note: str = ""


@dataclass(frozen=True)
class Leftover:
    """A remaining resource in a project; `going` if its deletion is in progress."""

    kind: str
    id: str
    name: str
    going: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.name or self.id}"


class Computing(Protocol):
    def image(self, name: str) -> str | None:
        """Id of a usable image."""

    def upload(self, name: str, file: Path, *, public: bool) -> str:
        """Create an image from a qcow2 file; returns its id."""

    def flavor(self, wanted: Flavor) -> str:
        """The id of a flavor, created if absent; for administrators."""

    def keypair(self, name: str, public_key: str) -> bool:
        """Whether the key pair of that name contains this key; creates it if absent."""

    def find(self, name: str) -> Server | None: ...

    def boot(self, wanted: Boot) -> Server: ...

    def server(self, id_: str) -> Server | None: ...

    def start(self, id_: str) -> None: ...

    def reboot(self, id_: str) -> None: ...

    def resize(self, id_: str, flavor: str) -> None: ...

    def confirm(self, id_: str) -> None: ...

    def delete(self, id_: str) -> None: ...

    def log(self, id_: str) -> str:
        """The complete console log."""

    def console(self, id_: str) -> str:
        """URL of the console in a browser."""

    def services(self) -> list[Agent]:
        """The compute services; for administrators."""


class Networking(Protocol):
    def external(self) -> str | None:
        """Id of an external network, which provides floating IPs."""

    def network(self, name: str, cidr: str) -> tuple[str, str]:
        """Ids of a network and its subnet."""

    def router(self, name: str, external: str, subnet: str) -> str: ...

    def group(self, name: str, rules: Iterable[Rule]) -> str:
        """Id of a security group that admits at least these rules."""

    def allow(self, group: str, rule: Rule) -> None: ...

    def forbid(self, group: str, rule: Rule) -> None: ...

    def port(self, name: str, network: str, group: str) -> Port: ...

    def floating(self, port: str, external: str) -> str:
        """Address of the port's floating IP."""

    def unwired(self, port: str) -> str | None:
        """The state, as the cloud reports it, that prevents traffic to a port and its floating IP; None if ready."""

    def agents(self) -> list[Agent]:
        """The network agents; for administrators."""


class Orchestration(Protocol):
    def create(self, name: str, template: Mapping[str, Any]) -> str:
        """Id of the stack."""

    def stack(self, id_: str) -> Stack | None: ...

    def delete(self, id_: str) -> None: ...


class KeyManager(Protocol):
    def store(self, name: str, payload: str) -> str:
        """Id of the secret."""

    def payload(self, id_: str) -> str: ...

    def order(self, name: str) -> str:
        """Id of the order of a key, which a worker generates."""

    def ordered(self, id_: str) -> Order: ...

    def forget(self, order: str) -> None:
        """Delete an order; its key stays."""

    def delete(self, id_: str) -> None: ...


class Names(Protocol):
    def create(self, name: str) -> str:
        """Id of the zone."""

    def add(self, zone: str, name: str, address: str) -> str:
        """Id of a recordset with one address."""

    def state(self, zone: str, recordset: str = "") -> str | None:
        """Status of a zone or of a recordset in it; None if it does not exist."""

    def delete(self, zone: str) -> None: ...


@dataclass(frozen=True)
class Tenant:
    """One user in one project."""

    computing: Computing
    networking: Networking
    orchestration: Orchestration
    key_manager: KeyManager
    names: Names


class Projects(Protocol):
    """Temporary projects and everything in them; for administrators."""

    def create(self, name: str, note: str) -> Project: ...

    def enter(self, project: Project) -> Tenant:
        """Create a user of the same name with the member role in the project, and log in as that user."""

    def named(self, prefix: str) -> list[Project]: ...

    def leftovers(self, project: Project) -> list[Leftover]:
        """The remaining resources in a possible order of deletion; the user and the project are last."""

    def delete(self, thing: Leftover) -> None:
        """Delete a resource; an absent one is not an error."""
