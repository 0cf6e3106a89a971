"""Agents of nodes, by openstacksdk: what uses them, and the deletion of their records.

With a compute service, Nova deletes its resource provider in Placement, its host's mapping to a cell and its entries in
aggregates; it refuses while servers or migrations need the host. With an agent, Neutron deletes what is scheduled to
it, and does not schedule that elsewhere, so routers and networks are moved before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.transport.client import connect, demand, message_of
from stackwright.adapters.openstack.transport.deadline import after, left, within
from stackwright.adapters.threads import in_thread
from stackwright.core.openstack.agents import REPORTS, registered
from stackwright.core.openstack.clouds import LONGEST
from stackwright.core.plan import ForgetAgents
from stackwright.core.ports import TransientError

if TYPE_CHECKING:
    from openstack.connection import Connection

Use = tuple[str, str]  # name of an agent, and what uses it
# States of a migration that no longer needs its hosts, for Nova when it deletes a compute service.
ENDED = ("confirmed", "reverted", "error", "failed", "completed", "cancelled", "done")
L3_AGENT, DHCP_AGENT = "neutron-l3-agent", "neutron-dhcp-agent"


class CloudAgents:
    """core.ports.Agents as the administrator, over the internal endpoints."""

    async def forget(self, action: ForgetAgents, admin: Mapping[str, str]) -> dict[str, str]:
        demand(admin, action.look.admin_secret)
        return await in_thread(within, after(LONGEST), lambda: _forget(action, admin))


def _forget(action: ForgetAgents, admin: Mapping[str, str]) -> dict[str, str]:
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import SDKException

    cloud = connect(admin, admin.get("region_name") or "RegionOne", interface="internal")
    errors = {}
    for name in action.agents:
        try:
            _check_time()
            FORGET[action.look.service](cloud, name, action.look.holders)
        except (ClientException, SDKException, OSError, TransientError) as error:  # the other agents do not wait
            errors[name] = message_of(error)
    return errors


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


def forget_compute(cloud: Connection, name: str, leaving: Collection[str] = ()) -> None:
    for service in _services(cloud, name):
        if service.state != "down":
            raise TransientError("it reports again")
        cloud.compute.delete_service(service)


def _services(cloud: Connection, name: str) -> list[Any]:
    binary, _, host = name.partition("@")
    return _only(name, cloud.compute.services(binary=binary, host=host))


def network_uses(cloud: Connection, names: Collection[str]) -> Iterator[Use]:
    """What uses these agents, which all leave: none of them takes over what another one hosts."""
    for name in names:
        for agent in _agents(cloud, name):
            if agent.is_alive:
                yield name, REPORTS
            if agent.binary in HOSTED and not _successors(_others(cloud, agent), names):
                what, hosted, _ = HOSTED[agent.binary]
                for each in hosted(cloud.network, agent):
                    yield name, f"{what} {each.name or each.id}, because no other {agent.binary} is up"


def forget_network_agent(cloud: Connection, name: str, leaving: Collection[str] = ()) -> None:
    """Delete an agent after what it hosts was moved to others, of which none is `leaving`."""
    for agent in _agents(cloud, name):
        if agent.is_alive:
            raise TransientError("it reports again")
        if agent.binary in HOSTED:
            _, _, move = HOSTED[agent.binary]
            others = _others(cloud, agent)
            move(cloud.network, agent, others, _successors(others, leaving))
        cloud.network.delete_agent(agent)


def _agents(cloud: Connection, name: str) -> list[Any]:
    binary, _, host = name.partition("@")
    return _only(name, cloud.network.agents(binary=binary, host=host))


def _only(name: str, listed: Iterable[Any]) -> list[Any]:
    """The agents of that name, whatever the filters of the request left."""
    return [each for each in listed if registered(str(each.binary), str(each.host)) == name]


def _others(cloud: Connection, agent: Any) -> list[Any]:
    listed = cloud.network.agents(binary=agent.binary)
    return [each for each in listed if each.binary == agent.binary and each.id != agent.id]


def _successors(agents: list[Any], leaving: Collection[str]) -> list[Any]:
    """Those that can take over what another agent hosts: an agent that leaves may be alive for a moment."""
    stay = [each for each in agents if registered(str(each.binary), str(each.host)) not in leaving]
    return [each for each in stay if each.is_alive and each.is_admin_state_up]


def _routers(network: Any, agent: Any) -> list[Any]:
    return list(network.agent_hosted_routers(agent))


def _networks(network: Any, agent: Any) -> list[Any]:
    return list(network.dhcp_agent_hosting_networks(agent))


def _move_routers(network: Any, agent: Any, others: list[Any], successors: list[Any]) -> None:
    """Move all routers to successors of their agent, each to the one with the fewest.

    Neutron requires that a router is removed from its agent before another one gets it. A crash in between leaves it
    without one, so all routers without an agent are scheduled.
    """
    own = {router.id for router in _routers(network, agent)}
    if not successors:
        _refuse_to_strand(own, "routers")
        return
    hosted = {each.id: {router.id for router in _routers(network, each)} for each in others}
    for router in sorted(own):
        _send(network.delete, f"/agents/{agent.id}/l3-routers/{router}")
    known = own | {each.id for each in network.routers() if not each.is_distributed}
    for router in sorted(known - set[str]().union(*hosted.values())):
        chosen = min(successors, key=lambda each: len(hosted[each.id]))
        _send(network.post, f"/agents/{chosen.id}/l3-routers", json={"router_id": router})
        hosted[chosen.id].add(router)


def _move_networks(network: Any, agent: Any, others: list[Any], successors: list[Any]) -> None:
    """Move all networks to successors of their agent that do not have them, each to the one with the fewest.

    When a network is removed from its agent, Neutron reserves the port of the DHCP server for the next one; when the
    agent is deleted, it does not.
    """
    own = {each.id for each in _networks(network, agent)}
    if not successors:
        _refuse_to_strand(own, "networks")
    hosted = {each.id: {found.id for found in _networks(network, each)} for each in successors}
    for each in sorted(own):
        if free := [one for one in successors if each not in hosted[one.id]]:
            chosen = min(free, key=lambda one: len(hosted[one.id]))
            _send(network.post, f"/agents/{chosen.id}/dhcp-networks", json={"network_id": each})
            hosted[chosen.id].add(each)
        _send(network.delete, f"/agents/{agent.id}/dhcp-networks/{each}")


def _refuse_to_strand(hosted: Collection[str], what: str) -> None:
    if hosted:
        raise TransientError(f"no other agent can take over {len(hosted)} {what}")


def _send(method: Callable[..., Any], path: str, **body: Any) -> None:
    """Send a request while there is time. The SDK's own methods for these requests ignore errors."""
    from openstack.exceptions import raise_from_response

    _check_time()
    raise_from_response(method(path, **body))


def _check_time() -> None:
    if left() <= 0:
        raise TransientError(f"it takes longer than {LONGEST:.0f} s and will be continued")


Move = Callable[[Any, Any, list[Any], list[Any]], None]
HOSTED: Mapping[str, tuple[str, Callable[[Any, Any], list[Any]], Move]] = {
    L3_AGENT: ("router", _routers, _move_routers),
    DHCP_AGENT: ("network", _networks, _move_networks),
}
"""Program → what its agents host, how that is listed, and how it is moved to others."""
FORGET: Mapping[str, Callable[[Connection, str, Collection[str]], None]] = {
    "compute": forget_compute,
    "networking": forget_network_agent,
}
