"""State that the checks share: the cloud as a user and as the administrator, and the resources of earlier checks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stackwright.smoke.ports import Clock, Failed, Host, Login, RealClock, Report, Waiting
from stackwright.smoke.tenant import CloudError, Project, Projects, Server, Tenant

GUEST_IMAGE = "stackwright-guest"
GUEST_USER = "stackwright"
TAIL = 12


def quiet(_: str) -> None:
    """A Report that does nothing."""


@dataclass
class CreatedResources:
    """Ids of the resources that the checks created, in order."""

    image: str = ""
    tiny: str = ""
    larger: str = ""
    network: str = ""
    group: str = ""
    port: str = ""
    address: str = ""
    """Of the port."""
    floating: str = ""
    server: str = ""


@dataclass
class Stage:
    """guest  provides the file of the guest image
    folder  folder of the ssh key
    services  of the cloud, by their names in an OpenStackDeployment
    """

    name: str
    projects: Projects
    admin: Tenant
    host: Host
    guest: Callable[[], Path]
    folder: Path
    clock: Clock = field(default_factory=RealClock)
    report: Report = quiet
    note: str = ""
    services: frozenset[str] = frozenset()
    project: Project | None = None
    member: Tenant | None = None
    made: CreatedResources = field(default_factory=CreatedResources)

    @property
    def user(self) -> Tenant:
        assert self.member, "the check `login` creates the project"
        return self.member

    @property
    def key(self) -> Path:
        return self.folder / "key"

    @property
    def login(self) -> Login:
        return Login(self.made.floating, GUEST_USER, self.key)

    def until(self, what: str, missing: Callable[[], str | None], limit: float) -> None:
        Waiting(self.clock, self.report).until(what, missing, limit)

    def server(self) -> Server:
        found = self.user.computing.server(self.made.server)
        if found is None:
            raise Failed("The virtual machine was deleted by another client")
        return found

    def console_tail(self) -> str:
        return console_tail(self.user, self.made.server)

    def agents_down(self) -> str:
        """For messages: agents and compute services that are down."""
        return agents_down(self.admin)


def agents_down(admin: Tenant) -> str:
    try:
        computes, agents = admin.computing.services(), admin.networking.agents()
    except CloudError as error:
        return f"\nAgents and compute services cannot be listed: {error}"
    down = [f"{each.name} on {each.host}" for each in (*computes, *agents) if not each.up]
    text = f"\nDown: {', '.join(down)}." if down else ""
    if not any(each.name == "nova-compute" for each in computes):
        text += "\nNo nova-compute exists: no node has registered as a hypervisor."
    return text


def console_tail(user: Tenant, server: str) -> str:
    """For messages: the end of a machine's console log."""
    try:
        lines = user.computing.log(server).splitlines()
    except CloudError as error:
        return f"\nIts console log cannot be read: {error}"
    shown = "\n".join(f"  | {line}" for line in lines[-TAIL:])
    return f"\nThe end of its console log:\n{shown}" if lines else "\nIts console log is empty."


def silent(user: Tenant, port: str) -> str:
    """For messages: the cause if a machine does not respond to a ping, as far as the cloud reports it."""
    unwired = user.networking.unwired(port)
    return f"no response: {unwired}" if unwired else "no answer"


def is_busy(server: Server, wanted: str) -> str | None:
    """None if the server has the wanted status and no task in progress. Raises Failed if it is in ERROR."""
    if server.status == "ERROR":
        raise Failed(f"The virtual machine is in status ERROR: {server.fault or 'the cloud reports no cause'}")
    if server.status == wanted and not server.task:
        return None
    return f"the virtual machine is {server.status}" + (f" ({server.task})" if server.task else "")


def metadata_of(text: str) -> dict[str, object]:
    """The instance's metadata from the metadata service. Raises Failed if it is not JSON."""
    try:
        found = json.loads(text)
    except ValueError:
        raise Failed(f"The response of the metadata service is not JSON: {text[:200]!r}") from None
    return dict(found)
