"""Records of OVN's chassis, which Neutron lists as agents, by openstacksdk."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from stackwright.adapters.openstack.transport.client import PAGE
from stackwright.core.errors import TransientError

CONTROLLER = "ovn-controller"
SERVERS = "compute:"  # the beginning of `device_owner` of a server's port; other ports move by themselves
# The host of a record that an interrupted deletion left, in the memory of a process of Neutron's API.
HALF_DELETED = '("Chassis" register deleted)'


def port_uses(network: Any, agent: Any, leaving: Collection[str] = ()) -> Iterator[str]:
    """Servers' ports on the host of a chassis. Without the chassis, other nodes drop their tunnels to them."""
    host = str(agent.host)
    fields = ["id", "device_id", "device_owner", "binding:host_id"]
    for port in network.ports(**{"binding:host_id": host}, fields=fields, limit=PAGE):
        if str(port.device_owner).startswith(SERVERS) and port.binding_host_id == host:
            yield f"the port of server {port.device_id}"


def refuse_ports(network: Any, agent: Any, leaving: Collection[str] = ()) -> None:
    """Raises TransientError if the chassis has uses, which cannot move."""
    if used := next(port_uses(network, agent), ""):
        raise TransientError(used)


def delete_half_deleted(network: Any) -> None:
    """Delete the records that interrupted deletions left. Their host field no longer names a node."""
    for agent in network.agents(binary=CONTROLLER, fields=["id", "binary", "host"]):
        if agent.binary == CONTROLLER and agent.host == HALF_DELETED:
            network.delete_agent(agent)
