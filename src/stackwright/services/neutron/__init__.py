"""Neutron: the networking service, with the switches and agents on the nodes.

The back end `ml2` uses Open vSwitch, with agents for DHCP, routers and metadata on the gateway nodes. With `ml2/ovn`,
OVN replaces these, except for a metadata agent on compute nodes. Scripts on the nodes (charts/openvswitch/bin) detect
differences between nodes: the datapath and the tunnel endpoint.
"""

from __future__ import annotations

from stackwright.services.context import COMPUTE, CONTROL_PLANE, GATEWAY, OPENVSWITCH
from stackwright.services.declaration import (
    INGRESS,
    OPERATOR,
    AgentList,
    Chart,
    Features,
    Listener,
    Public,
    Service,
)
from stackwright.services.neutron import ovn, ovs
from stackwright.services.neutron.features import NeutronFeatures, NeutronSettings
from stackwright.services.neutron.kind import Neutron
from stackwright.services.neutron.values import PORT, chart_values, contracts, images, secrets
from stackwright.services.tested import RENDERED_ONLY, SMALL_CLOUD, UP, WITHOUT_CEPH, levels, service, switch

_AGENT_CALLS = ("rabbitmq", "keystone", "ovn-southbound")


__all__ = ["SERVICE"]

SERVICE = Service(
    service="networking",
    name="neutron",
    group="openstack",
    resource=Neutron,
    charts=(
        Chart(
            "neutron",
            chart_values,
            images=images,
            daemonsets=(*ovs.COMPONENTS, ovn.AGENT),
            options=(
                "neutron",
                "plugins",
                "dhcp_agent",
                "l3_agent",
                "metadata_agent",
                "ovn_metadata_agent",
                "neutron_api_uwsgi",
                "logging",
            ),
            listens=(
                Listener("server", (PORT,), name="neutron", sources=("horizon", "keystoneclient", INGRESS, OPERATOR)),
                *(Listener(client) for client in ("rpc-server", "periodic-workers", "ovn-maintenance-worker")),
            ),
            calls=(
                *("mariadb", "rabbitmq", "memcached", "keystone", "placement", "nova", "neutron"),
                *("designate", "ovn-northbound", "ovn-southbound"),
            ),
            host_calls={
                OPENVSWITCH: _AGENT_CALLS,
                GATEWAY: (*_AGENT_CALLS, "nova-metadata"),
                COMPUTE: (*_AGENT_CALLS, "nova-metadata"),
            },
        ),
        ovs.CHART,
        ovn.CHART,
    ),
    secrets=secrets,
    contracts=contracts,
    certificates=ovn.certificates,
    settings=NeutronSettings,
    features=Features(NeutronFeatures, "The networking service."),
    from_cloud=lambda cloud: {"messaging_instance": cloud.bus("neutron"), "services": sorted(cloud.services)},
    node_labels=(CONTROL_PLANE, OPENVSWITCH, GATEWAY),
    modules={OPENVSWITCH: ("openvswitch",)},
    conf_files={"neutron": "neutron"},
    requires=lambda settings: ("database", "messaging", "identity"),
    agents=(*ovs.AGENTS, *ovn.AGENTS),
    agent_list=AgentList("/v2.0/agents", "agents", lambda each: (bool(each["alive"]), bool(each["admin_state_up"]))),
    driver=lambda settings: settings.backend,
    presets=("core", "compute"),
    public=(Public("neutron"),),
    logging=True,
    own_bus=True,
    section="neutron",
    programs={"": "server"},
    tested={
        "features.services": service("networking", UP, SMALL_CLOUD),
        "features.logging.neutron.level": levels(UP),
        "features.messaging.components_with_dedicated_messaging": {"networking": UP},
        "features.neutron.backend": {
            "ml2": UP,
            "ml2/ovn": "test_up_with_ovn_ends_with_a_vm_that_greets_by_its_floating_ip",
        },
        "features.neutron.tenant_network_types": {
            "vxlan": "test_vms_on_both_nodes_talk_over_the_tunnel",
            **dict.fromkeys(("flat", "vlan", "geneve"), RENDERED_ONLY),
        },
        "features.neutron.external_networks.network_types": {"flat": UP, "vlan": RENDERED_ONLY},
        "features.neutron.floating_network.enabled": switch(UP),
        "features.neutron.floating_network.network_type": {"flat": UP, "vlan": RENDERED_ONLY},
        "features.neutron.extensions.trunk.enabled": switch(WITHOUT_CEPH),
    },
)
