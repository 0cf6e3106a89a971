"""Records of OVN's chassis, which Neutron lists as agents, by openstacksdk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackwright.adapters.openstack.transport.client import PAGE

CONTROLLER = "ovn-controller"
SERVERS = "compute:"  # the beginning of `device_owner` of a server's port; other ports move by themselves
# The host of a record that an interrupted deletion left, in the memory of a process of Neutron's API.
HALF_DELETED = '("Chassis" register deleted)'


def port_uses(network: Any, host: str) -> Iterator[str]:
    """Servers' ports on a host. Without its chassis, other nodes drop their tunnels to them."""
    fields = ["id", "device_id", "device_owner", "binding:host_id"]
    for port in network.ports(**{"binding:host_id": host}, fields=fields, limit=PAGE):
        if str(port.device_owner).startswith(SERVERS) and port.binding_host_id == host:
            yield f"the port of server {port.device_id}"


def delete_half_deleted(network: Any) -> None:
    """Delete the records that interrupted deletions left. Their host field no longer names a node."""
    for agent in network.agents(binary=CONTROLLER, fields=["id", "binary", "host"]):
        if agent.binary == CONTROLLER and agent.host == HALF_DELETED:
            network.delete_agent(agent)
