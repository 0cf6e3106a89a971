"""Moves of routers and networks from a leaving agent of Neutron to others, by openstacksdk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from stackwright.adapters.openstack.transport.client import PAGE, message_of, sdk_errors
from stackwright.adapters.openstack.transport.deadline import check_time
from stackwright.core.errors import TransientError
from stackwright.core.openstack.deployed.agents import truncated

UNHOSTED = 5000  # routers without an agent that one call schedules; they are in memory


def move_routers(network: Any, agent: Any, others: list[Any], successors: list[Any]) -> None:
    """Move all routers to successors of their agent, each to the one with the fewest.

    Neutron requires that a router is removed from its agent before it is added to another, unless it is an HA router. A
    crash in between leaves it without an agent, so all routers without an agent are scheduled.
    """
    own = {router.id: router for router in network.agent_hosted_routers(agent)}
    if not successors:
        _refuse_to_strand(own, "routers")
        return
    hosted = {each.id: {router.id for router in network.agent_hosted_routers(each)} for each in others}
    known = own.keys() | set[str]().union(*hosted.values())
    # Neutron has no pages of what an agent hosts, and ignores `limit` there.
    every = network.routers(limit=PAGE, fields=["id", "name", "ha", "distributed"])
    unhosted = (each for each in every if not each.is_distributed and each.id not in known)
    without = list(islice(unhosted, UNHOSTED + 1))
    if len(without) > UNHOSTED:
        raise TransientError(f"more than {UNHOSTED} routers have no agent")

    def add(router: Any) -> None:
        if chosen := _fewest(successors, hosted, router.id):
            _send(network.post, f"/agents/{chosen.id}/l3-routers", json={"router_id": router.id})
            hosted[chosen.id].add(router.id)

    def remove(router: Any) -> None:
        _send(network.delete, f"/agents/{agent.id}/l3-routers/{router.id}")

    def move(router: Any) -> None:
        if router.is_ha:
            add(router)
            remove(router)
            return
        remove(router)
        try:
            add(router)
        except Exception:  # restore it on its agent, which may return: no other agent would serve it
            with suppress(*sdk_errors()):
                _send(network.post, f"/agents/{agent.id}/l3-routers", json={"router_id": router.id})
            raise

    _each("router", [*own.values(), *without], lambda router: move(router) if router.id in own else add(router))


def move_networks(network: Any, agent: Any, others: list[Any], successors: list[Any]) -> None:
    """Move all networks to successors of their agent that do not have them, each to the one with the fewest.

    When a network is removed from its agent, Neutron reserves the port of the DHCP server for the next agent. When the
    agent is deleted, Neutron does not.
    """
    own = list(network.dhcp_agent_hosting_networks(agent))
    if not successors:
        _refuse_to_strand(own, "networks")
    hosted = {each.id: {found.id for found in network.dhcp_agent_hosting_networks(each)} for each in successors}

    def move(moved: Any) -> None:
        if chosen := _fewest(successors, hosted, moved.id):
            _send(network.post, f"/agents/{chosen.id}/dhcp-networks", json={"network_id": moved.id})
            hosted[chosen.id].add(moved.id)
        _send(network.delete, f"/agents/{agent.id}/dhcp-networks/{moved.id}")

    _each("network", own, move)


def _fewest(successors: Iterable[Any], hosted: Mapping[str, Collection[str]], moved: str) -> Any | None:
    """The agent with the fewest resources among those that do not host this one; None if all do."""
    free = [each for each in successors if moved not in hosted[each.id]]
    return min(free, key=lambda each: len(hosted[each.id]), default=None)


def _refuse_to_strand(hosted: Collection[Any], what: str) -> None:
    if hosted:
        raise TransientError(f"no other agent can take over {len(hosted)} {what}")


def _each(what: str, things: Iterable[Any], move: Callable[[Any], None]) -> None:
    """Move each resource separately until the deadline, and continue after a refusal.

    Raises TransientError with the refused resources, and at once the error of a Neutron that does not respond.
    """
    from openstack.exceptions import SDKException

    refused: dict[str, str] = {}
    for thing in sorted(things, key=lambda each: str(each.id)):
        check_time()
        try:
            move(thing)
        except SDKException as error:
            refused[f"{what} {thing.name or thing.id}"] = message_of(error)
    if refused:
        (_, cause), *_ = refused.items()
        raise TransientError(f"Neutron refuses to move {', '.join(truncated(list(refused)))}: {cause}")


def _send(method: Callable[..., Any], path: str, **body: Any) -> None:
    """Send a request and raise its error, which the SDK's own methods for these requests ignore."""
    from openstack.exceptions import raise_from_response

    raise_from_response(method(path, **body))
