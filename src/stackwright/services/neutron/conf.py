"""The configuration of Neutron's server and agents, from the networking features of the cloud. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.services.kinds import Size
from stackwright.core.helm.merge import merge
from stackwright.services.context import GATEWAY, Context, Values
from stackwright.services.designate.clients import external_dns
from stackwright.services.neutron.ovn import is_ovn, options
from stackwright.services.neutron.ovs import bridge_mappings
from stackwright.services.oslo import api_conf


@dataclass(frozen=True)
class Sizing:
    """Pods of the server's parts; processes of an API pod and of an RPC pod; processes only for agents' reports."""

    servers: int
    rpc_servers: int
    periodic: int
    workers: int
    rpc_workers: int
    report_workers: int


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 1, 1, 1, 0),
    "tiny": Sizing(3, 3, 1, 2, 2, 1),
    "small": Sizing(3, 3, 1, 4, 4, 1),
    "medium": Sizing(12, 6, 2, 4, 8, 2),
}


def _neutron_conf(context: Context) -> Values:
    size = SIZES[context.spec.size]
    plugins = ["ovn-router" if is_ovn(context.settings) else "router"]
    if context.settings.extensions.trunk.enabled:
        plugins.append("trunk")
    conf = api_conf(context)
    conf["DEFAULT"] |= {
        "service_plugins": plugins,
        # Two DHCP servers for each network if a second gateway node exists.
        "dhcp_agents_per_network": min(2, max(1, len(context.labelled(GATEWAY)))),
        "rpc_workers": size.rpc_workers,
        "rpc_state_report_workers": size.report_workers,
    }
    return merge(conf, external_dns(context))


def tenant_types(context: Context) -> list[str]:
    return list(context.settings.tenant_network_types) or ["geneve" if is_ovn(context.settings) else "vxlan"]


def _ml2_conf(context: Context) -> Values:
    networks = context.settings.external_networks
    tenants = tenant_types(context)
    overlays = {"geneve" if is_ovn(context.settings) else "vxlan"} | ({"vxlan", "geneve"} & set(tenants))
    vlans = [
        f"{network.physnet}:{vlans}" if vlans else network.physnet
        for network in networks
        if "vlan" in network.network_types or network.vlan_ranges
        for vlans in (network.vlan_ranges.split(",") if network.vlan_ranges else [""])
    ]
    conf: Values = {
        "ml2": {
            "type_drivers": ["flat", "vlan", *sorted(overlays)],
            "tenant_network_types": tenants,
            "mechanism_drivers": ["ovn" if is_ovn(context.settings) else "openvswitch"],
            "physical_network_mtus": [f"{network.physnet}:{network.mtu}" for network in networks if network.mtu],
            **({"extension_drivers": ["port_security", "dns_domain_ports"]} if external_dns(context) else {}),
        },
        "ml2_type_flat": {"flat_networks": [n.physnet for n in networks if "flat" in n.network_types]},
        "ml2_type_vlan": {"network_vlan_ranges": vlans},
    }
    if is_ovn(context.settings):
        conf["ml2_type_geneve"] = {"vni_ranges": ["1:65536"], "max_header_size": 38}
        conf["ovn"] = {
            **options(context, "nb", "sb"),
            "ovn_metadata_enabled": True,
            "dns_servers": _dns(context),
            "ovsdb_retry_max_interval": 10,  # seconds; 180 by default
        }
    return conf


def _dns(context: Context) -> list[str]:
    return list(context.settings.dns_servers)


def conf(context: Context) -> Values:
    size = SIZES[context.spec.size]
    level = context.spec.log_level
    overlays = [kind for kind in tenant_types(context) if kind in ("vxlan", "geneve")]
    found: Values = {
        "neutron": _neutron_conf(context),
        "plugins": {
            "ml2_conf": _ml2_conf(context),
            "openvswitch_agent": {
                "agent": {"tunnel_types": overlays},
                "ovs": {"bridge_mappings": bridge_mappings(context)},
            },
        },
        "dhcp_agent": {"DEFAULT": {"dnsmasq_dns_servers": _dns(context)}},
        "neutron_api_uwsgi": {"uwsgi": {"processes": size.workers}},
        "logging": {"logger_neutron": {"level": level}},
    }
    if level == "DEBUG":
        found["logging"]["logger_loop"] = {"level": level}
    if is_ovn(context.settings):
        found["ovn_metadata_agent"] = {"ovn": options(context, "sb")}
    return found
