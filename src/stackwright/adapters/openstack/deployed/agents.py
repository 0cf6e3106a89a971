"""Agents of nodes, by openstacksdk: their uses, and the deletion of their records.

With a compute service, Nova also deletes its resource provider in Placement, its host's mapping to a cell and its
entries in aggregates; it refuses the deletion while servers or migrations need the host. With an agent, Neutron deletes
the assignments of its routers and networks and does not reschedule them, so they are moved before. Neutron deletes an
agent in use, and a replica that has just started may return an empty list with 200. So two lists over separate
connections, CONFIRM seconds apart, must both show that an agent is not used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from stackwright.adapters.openstack.deployed.administrator import connect_as, require_credentials
from stackwright.adapters.openstack.deployed.chassis import CONTROLLER, delete_half_deleted, port_uses, refuse_ports
from stackwright.adapters.openstack.deployed.moves import move_networks, move_routers
from stackwright.adapters.openstack.transport.client import message_of, sdk_errors
from stackwright.adapters.openstack.transport.deadline import check_time, late
from stackwright.adapters.openstack.transport.shapes import answering
from stackwright.adapters.threads import LibraryFailed, Workers
from stackwright.core.errors import TransientError
from stackwright.core.openstack.clouds import CALL_SECONDS
from stackwright.core.openstack.deployed.agents import REPORTS, registered
from stackwright.core.openstack.deployed.inventory import CONFIRM
from stackwright.core.plan import DeleteAgents

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")
Use = tuple[str, str]  # name of an agent, and what uses it
Step = Callable[["Connection", str, Collection[str]], bool]
"""A step of a deletion; returns whether the agent was listed."""
# States of a migration that no longer needs its hosts, for Nova when it deletes a compute service.
ENDED = ("confirmed", "reverted", "error", "failed", "completed", "cancelled", "done")
RECEIVED = 64 << 20  # bytes of all responses of a call
# Those of an agent that are read: the others are most of a list, which is not paged, while a response is bounded.
FIELDS = ["id", "binary", "host", "alive", "admin_state_up"]


class CloudAgents:
    """core.ports.Agents as the administrator, over the internal endpoints."""

    def __init__(self) -> None:
        self._workers = Workers()

    async def forget(self, action: DeleteAgents, admin: Mapping[str, str]) -> dict[str, str]:
        require_credentials(admin, action.look.admin_secret)
        errors: dict[str, str] = {}
        api, listed = APIS[action.look.service], action.agents
        for step in (each for each in (api.vacate, api.forget) if each and listed):
            failed, listed = await self._call(action, partial(_each, step, action, listed, admin))
            errors |= failed
            if set(action.agents) <= errors.keys():
                return errors
            await asyncio.sleep(CONFIRM)
        return await self._call(action, lambda: _still_listed(action, admin)) | errors

    async def _call(self, action: DeleteAgents, what: Callable[[], T]) -> T:
        try:
            return await self._workers.call(action.look.key[0], CALL_SECONDS, what, RECEIVED)
        except TimeoutError:
            raise late() from None


def _each(
    step: Step, action: DeleteAgents, names: Iterable[str], admin: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Agent → error, for those at which the step fails, and the listed agents at which it succeeds."""
    cloud = _connected(admin)
    failures = sdk_errors(LibraryFailed, TransientError)
    errors, done = {}, []
    for name in names:
        try:
            check_time()
            with answering():
                done += [name] if step(cloud, name, action.look.holders) else []
        except failures as error:  # the other agents do not wait
            errors[name] = message_of(error)
    return errors, tuple(done)


def _still_listed(action: DeleteAgents, admin: Mapping[str, str]) -> dict[str, str]:
    """Agent → error, for agents whose deletion a second list does not confirm.

    A replica of an API that has just started may return an empty list with 200. So the list is requested over a new
    connection, which may reach another replica, and an empty list proves nothing.
    """
    try:
        with answering():
            listed = APIS[action.look.service].every(_connected(admin))
            found = {registered(str(each.binary), str(each.host)) for each in listed}
    except sdk_errors(LibraryFailed) as error:
        return dict.fromkeys(action.agents, message_of(error))
    if not found:
        return dict.fromkeys(action.agents, f"{action.look.service} lists no agents at all")
    return {name: f"{action.look.service} still lists it" for name in action.agents if name in found}


def _connected(admin: Mapping[str, str]) -> Connection:
    return connect_as(admin, interface="internal")


def compute_uses(cloud: Connection, names: Collection[str]) -> Iterator[Use]:
    for name in names:
        for service in _services(cloud, name):
            if service.state != "down":
                yield name, REPORTS
            for server in cloud.compute.servers(details=False, all_projects=True, compute_host=service.host):
                yield name, f"server {server.name or server.id}"
            for migration in cloud.compute.migrations(host=service.host):
                if migration.status not in ENDED:
                    yield name, f"the migration of server {migration.server_id}"


def forget_compute(cloud: Connection, name: str, leaving: Collection[str] = ()) -> bool:
    found = _services(cloud, name)
    for service in found:
        if service.state != "down":
            raise TransientError("it reports again")
        cloud.compute.delete_service(service)
    return bool(found)


def _services(cloud: Connection, name: str) -> list[Any]:
    binary, _, host = name.partition("@")
    return _only(name, cloud.compute.services(binary=binary, host=host))


def network_uses(cloud: Connection, names: Collection[str]) -> Iterator[Use]:
    """Uses of these agents. All of them leave, so none takes over routers or networks of another."""
    for name in names:
        for agent in _agents(cloud, name):
            if agent.is_alive:
                yield name, REPORTS
            if agent.binary in HOSTED:
                yield from ((name, use) for use in HOSTED[agent.binary].uses(cloud.network, agent, names))


def vacate_network_agent(cloud: Connection, name: str, leaving: Collection[str] = ()) -> bool:
    """Move the routers or networks of an agent to agents that are not `leaving`."""
    found = _agents(cloud, name)
    for agent in found:
        _vacate(cloud, agent, leaving)
    if not found:  # perhaps an earlier deletion was interrupted
        _clean(cloud, name)
    return bool(found)


def forget_network_agent(cloud: Connection, name: str, leaving: Collection[str] = ()) -> bool:
    """Delete an agent without uses, after its routers or networks were moved to agents that are not `leaving`."""
    found = _agents(cloud, name)
    for agent in found:
        _vacate(cloud, agent, leaving)
        cloud.network.delete_agent(agent)
    _clean(cloud, name)
    return bool(found)


def _vacate(cloud: Connection, agent: Any, leaving: Collection[str]) -> None:
    """Raises TransientError if the agent is alive, or has uses that cannot move."""
    if agent.is_alive:
        raise TransientError("it reports again")
    if agent.binary in HOSTED:
        HOSTED[agent.binary].vacate(cloud.network, agent, leaving)


def _clean(cloud: Connection, name: str) -> None:
    binary, _, _ = name.partition("@")
    if binary in HOSTED:
        HOSTED[binary].clean(cloud.network)


def _agents(cloud: Connection, name: str) -> list[Any]:
    binary, _, host = name.partition("@")
    return _only(name, cloud.network.agents(binary=binary, host=host, fields=FIELDS))


def _only(name: str, listed: Iterable[Any]) -> list[Any]:
    """The agents of that name, because the API may ignore the filters of the request."""
    return [each for each in listed if registered(str(each.binary), str(each.host)) == name]


def _others(network: Any, agent: Any) -> list[Any]:
    listed = network.agents(binary=agent.binary, fields=FIELDS)
    return [each for each in listed if each.binary == agent.binary and each.id != agent.id]


def _successors(agents: list[Any], leaving: Collection[str]) -> list[Any]:
    """The agents that can take over resources of another. A leaving agent, which may be alive briefly, cannot."""
    stay = [each for each in agents if registered(str(each.binary), str(each.host)) not in leaving]
    return [each for each in stay if each.is_alive and each.is_admin_state_up]


@dataclass(frozen=True)
class Hosted:
    """What the agents of a program host. The functions get Neutron's API, an agent, and the names of leaving agents.

    uses    what keeps the agent
    vacate  moves what it hosts; raises TransientError if that is not possible
    clean   deletes what interrupted deletions of such agents left
    """

    uses: Callable[[Any, Any, Collection[str]], Iterable[str]]
    vacate: Callable[[Any, Any, Collection[str]], None]
    clean: Callable[[Any], None] = lambda network: None


def _movable(
    what: str, hosted: Callable[[Any, Any], Iterable[Any]], move: Callable[[Any, Any, list[Any], list[Any]], None]
) -> Hosted:
    """Resources that keep their agent only if no other agent can take them over."""

    def uses(network: Any, agent: Any, leaving: Collection[str]) -> Iterator[str]:
        if not _successors(_others(network, agent), leaving):
            for each in hosted(network, agent):
                yield f"{what} {each.name or each.id}, because no other {agent.binary} is up"

    def vacate(network: Any, agent: Any, leaving: Collection[str]) -> None:
        others = _others(network, agent)
        move(network, agent, others, _successors(others, leaving))

    return Hosted(uses, vacate)


HOSTED: Mapping[str, Hosted] = {  # by program
    "neutron-l3-agent": _movable("router", lambda network, agent: network.agent_hosted_routers(agent), move_routers),
    "neutron-dhcp-agent": _movable(
        "network", lambda network, agent: network.dhcp_agent_hosting_networks(agent), move_networks
    ),
    CONTROLLER: Hosted(port_uses, refuse_ports, delete_half_deleted),
}


@dataclass(frozen=True)
class AgentApi:
    """What the API of a service does with the agents on nodes.

    every   all that it lists
    uses    what uses those of these names
    forget  deletes the record of one; none of the names leaving takes over what it hosts
    vacate  does everything that must be true before `forget`; None if the API itself refuses to delete one in use
    """

    every: Callable[[Connection], Iterable[Any]]
    uses: Callable[[Connection, Collection[str]], Iterable[Use]]
    forget: Step
    vacate: Step | None = None


APIS: Mapping[str, AgentApi] = {  # by service: those that declare `Service.agents`
    "compute": AgentApi(lambda cloud: cloud.compute.services(), compute_uses, forget_compute),
    "networking": AgentApi(
        lambda cloud: cloud.network.agents(fields=FIELDS), network_uses, forget_network_agent, vacate_network_agent
    ),
}
