"""Records of OVN's chassis, which Neutron lists as agents, by openstacksdk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackwright.adapters.openstack.transport.client import PAGE

CONTROLLER = "ovn-controller"
SERVERS = "compute:"  # the beginning of `device_owner` of a server's port; other ports move by themselves
# The host of a record that an interrupted deletion left: Neutron deletes its two rows in separate transactions.
HALF_DELETED = '("Chassis" register deleted)'


def ports(network: Any, host: str) -> Iterator[str]:
    """What uses the chassis of a host: without it, other nodes would drop their tunnels to servers there."""
    fields = ["id", "device_id", "device_owner", "binding:host_id"]
    for port in network.ports(**{"binding:host_id": host}, fields=fields, limit=PAGE):
        if str(port.device_owner).startswith(SERVERS) and port.binding_host_id == host:
            yield f"the port of server {port.device_id}"


def forget_remains(network: Any) -> None:
    """Deletes the records of chassis that are deleted already. Their names tell no node."""
    for agent in network.agents(binary=CONTROLLER, fields=["id", "binary", "host"]):
        if agent.binary == CONTROLLER and agent.host == HALF_DELETED:
            network.delete_agent(agent)
