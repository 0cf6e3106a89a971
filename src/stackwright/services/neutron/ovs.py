"""Open vSwitch: the release with the nodes' switches, and the agents of the back end `ml2`. Pure."""

from __future__ import annotations

from stackwright.services.context import GATEWAY, OPENVSWITCH, Context, Values, placed
from stackwright.services.declaration import Chart, NodeAgent
from stackwright.services.neutron.features import NeutronSettings


def bridge_mappings(context: Context) -> list[str]:
    """physnet:bridge of each physical network."""
    return [f"{network.physnet}:{network.bridge}" for network in context.settings.external_networks]


def _openvswitch_values(context: Context) -> Values:
    bridges = [
        {"bridge": network.bridge, "physnet": network.physnet, "interface": network.interface}
        for network in context.settings.external_networks
    ]
    return {
        "labels": placed(OPENVSWITCH, "openvswitch"),
        "conf": {"tunnel_interface": context.settings.tunnel_interface, "bridges": bridges},
    }


def _has_agents(settings: NeutronSettings) -> bool:
    return settings.backend == "ml2"


AGENTS = (
    NodeAgent("neutron-openvswitch-agent", "ovs-agent", OPENVSWITCH, _has_agents),
    *(
        NodeAgent(f"neutron-{each}", each, GATEWAY, _has_agents)
        for each in ("dhcp-agent", "l3-agent", "metadata-agent")
    ),
)
COMPONENTS = tuple(agent.component for agent in AGENTS)
CHART = Chart(
    "openvswitch",
    _openvswitch_values,
    images=lambda settings: {"openvswitch_db_server": "openvswitch", "openvswitch_vswitchd": "openvswitch"},
    daemonsets=("openvswitch",),
)
