"""Creates the network of floating IPs, its subnet and a router from BOOTSTRAP; existing ones are not changed.

Waits for Keystone, for Neutron, and for a node that can host the router's gateway: if the gateway's port is created
earlier, its binding fails permanently.
"""

import json
import os
from typing import Any

import openstack
from patience import retry, say

GATEWAYS = ("L3 agent", "OVN Controller Gateway agent")
SWITCH = "Open vSwitch agent"


def connect() -> openstack.connection.Connection:
    cloud = openstack.connect(cloud=os.environ.get("OS_CLOUD", "openstack"), app_name="stackwright-bootstrap")
    cloud.network.get("/").raise_for_status()
    return cloud


def gateways_ready(cloud: openstack.connection.Connection) -> None:
    """Raises RuntimeError unless a host has a live agent for routers and, except with OVN, one for the switch."""
    alive = [agent for agent in cloud.network.agents() if agent.is_alive]
    switches = {agent.host for agent in alive if agent.agent_type == SWITCH}
    for agent in alive:
        if agent.agent_type in GATEWAYS and (agent.agent_type != "L3 agent" or agent.host in switches):
            return
    raise RuntimeError("no gateway node has its agents up yet")


def make_network(cloud: openstack.connection.Connection, wanted: dict[str, Any]) -> Any:
    if found := cloud.network.find_network(wanted["name"]):
        return found
    fields = {"provider:network_type": wanted["network_type"], "provider:physical_network": wanted["physnet"]}
    if wanted.get("segmentation_id"):
        fields["provider:segmentation_id"] = wanted["segmentation_id"]
    say(f"making network {wanted['name']}")
    return cloud.network.create_network(name=wanted["name"], is_router_external=True, **fields)


def make_subnet(cloud: openstack.connection.Connection, wanted: dict[str, Any], network: Any) -> None:
    if cloud.network.find_subnet(wanted["name"], network_id=network.id):
        return
    say(f"making subnet {wanted['name']}")
    cloud.network.create_subnet(
        name=wanted["name"],
        network_id=network.id,
        ip_version=6 if ":" in wanted["range"] else 4,
        cidr=wanted["range"],
        gateway_ip=wanted["gateway"],
        allocation_pools=[{"start": wanted["pool_start"], "end": wanted["pool_end"]}],
        is_dhcp_enabled=False,
    )


def make_router(cloud: openstack.connection.Connection, name: str, network: Any) -> None:
    gateway = {"network_id": network.id}
    project = cloud.current_project_id
    router = next(iter(cloud.network.routers(name=name, project_id=project)), None)
    if router is None:
        say(f"making router {name}")
        cloud.network.create_router(name=name, external_gateway_info=gateway)
    elif not router.external_gateway_info:
        say(f"giving router {name} its gateway")
        cloud.network.update_router(router, external_gateway_info=gateway)


def main() -> None:
    wanted = json.loads(os.environ["BOOTSTRAP"])
    cloud = retry("Keystone and Neutron", connect)
    network = retry("the network", lambda: make_network(cloud, wanted))
    retry("the subnet", lambda: make_subnet(cloud, wanted["subnet"], network))
    retry("a gateway node", lambda: gateways_ready(cloud))
    retry("the router", lambda: make_router(cloud, wanted["router"]["name"], network))
    say("done")


main()
