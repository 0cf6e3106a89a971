"""What a user does with a cloud, as Protocols: the smoke test and the demo speak only these words.

Whatever is made by name is looked for first, so each call may be repeated and finishes what an interrupted one began.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class CloudError(Exception):
    """An API did not do what was asked; `passing` when the same call may succeed soon."""

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
    """What a security group lets in from anywhere."""

    protocol: str
    port: int | None = None


@dataclass(frozen=True)
class Port:
    id: str
    address: str


@dataclass(frozen=True)
class Boot:
    """A server that is wanted; `image`, `flavor` and `port` are ids."""

    name: str
    image: str
    flavor: str
    key: str
    port: str


@dataclass(frozen=True)
class Server:
    """`fault` is the cloud's own word on what went wrong; `host` is told to administrators only; `key` names its key
    pair.
    """

    id: str
    status: str
    task: str = ""
    fault: str = ""
    host: str = ""
    key: str = ""


@dataclass(frozen=True)
class Agent:
    """A network agent or a compute service on a node."""

    name: str
    host: str
    up: bool
    enabled: bool = True


@dataclass(frozen=True)
class Project:
    """A project with one user of the same name. `note` is its description."""

    id: str
    name: str
    note: str = ""


@dataclass(frozen=True)
class Thing:
    """What somebody left behind in a project."""

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
        """Make an image of a qcow2 file; its id."""

    def flavor(self, wanted: Flavor) -> str:
        """For administrators: the flavor's id, made if absent."""

    def keypair(self, name: str, public_key: str) -> bool:
        """Whether the key pair of that name is of this key; it is made if there is none."""

    def find(self, name: str) -> Server | None: ...

    def boot(self, wanted: Boot) -> Server: ...

    def server(self, id_: str) -> Server | None: ...

    def start(self, id_: str) -> None: ...

    def reboot(self, id_: str) -> None: ...

    def resize(self, id_: str, flavor: str) -> None: ...

    def confirm(self, id_: str) -> None: ...

    def delete(self, id_: str) -> None: ...

    def log(self, id_: str) -> str:
        """All of the console log."""

    def console(self, id_: str) -> str:
        """URL of the console in a browser."""

    def services(self) -> list[Agent]:
        """For administrators: compute services."""


class Networking(Protocol):
    def external(self) -> str | None:
        """Id of a network of floating IPs."""

    def network(self, name: str, cidr: str) -> tuple[str, str]:
        """Ids of a network and its subnet."""

    def router(self, name: str, external: str, subnet: str) -> str: ...

    def group(self, name: str, rules: Iterable[Rule]) -> str:
        """Id of a security group that lets at least these in."""

    def allow(self, group: str, rule: Rule) -> None: ...

    def forbid(self, group: str, rule: Rule) -> None: ...

    def port(self, name: str, network: str, group: str) -> Port: ...

    def floating(self, port: str, external: str) -> str:
        """Address of the port's floating IP."""

    def unwired(self, port: str) -> str | None:
        """What the cloud has not done yet, by its own word, for a port and its floating IP to be reached."""

    def agents(self) -> list[Agent]:
        """For administrators."""


@dataclass(frozen=True)
class Tenant:
    """One user in one project."""

    computing: Computing
    networking: Networking


class Projects(Protocol):
    """For administrators: projects that come and go, and everything in them."""

    def create(self, name: str, note: str) -> Project: ...

    def enter(self, project: Project) -> Tenant:
        """Make an ordinary member of the project, of the same name, and log in as that user."""

    def named(self, prefix: str) -> list[Project]: ...

    def leftovers(self, project: Project) -> list[Thing]:
        """In the order in which they can go; the user and the project come last."""

    def delete(self, thing: Thing) -> None:
        """What is gone already is fine."""
