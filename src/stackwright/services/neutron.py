"""Neutron: the networking service, with the switches and agents on the nodes.

The back end `ml2` uses Open vSwitch, with agents for DHCP, routers and metadata on the gateway nodes. With `ml2/ovn`,
OVN does this, and only the metadata agent remains, on compute nodes. Differences between nodes (the datapath, the
tunnel endpoint) are detected on the nodes (charts/openvswitch/bin).
"""

from __future__ import annotations

from collections import Counter

from pydantic import Field, model_validator

from stackwright.api.cloud.features import NeutronFeatures
from stackwright.api.fields.naming import InstanceName
from stackwright.api.services.kinds import Neutron
from stackwright.services.declaration import (
    COMPUTE,
    CONTROL_PLANE,
    GATEWAY,
    OPENVSWITCH,
    Chart,
    Context,
    Contract,
    Secret,
    Service,
    Settings,
    Values,
    placed,
)
from stackwright.services.keystone import ADMIN_SECRET
from stackwright.services.needs import Endpoint, database, identity, ingress_values, messaging, notifications
from stackwright.services.neutron_conf import SIZES, conf
from stackwright.services.ovs import OPENVSWITCH_CHART, OVN_CHART, is_ovn
from stackwright.services.sizes import limits

PORT = 9696
SERVER = "neutron-server"
METADATA_PORT = 8775
METADATA_SECRET = "neutron-metadata-proxy"  # noqa: S105 - the name of a Secret
RESERVED = ("br-int", "br-tun", "br-tunnel-phy")
ML2_AGENTS = ("ovs-agent", "dhcp-agent", "l3-agent", "metadata-agent")
OVN_AGENT = "ovn-metadata-agent"


def errors(features: NeutronFeatures) -> list[str]:
    """Errors of names that must match each other on the nodes."""
    networks = features.external_networks
    found = []
    for field in ("bridge", "interface"):
        counted = Counter(value for network in networks if (value := getattr(network, field)))
        found += [f"external_networks: duplicate {field} {name}" for name, times in counted.items() if times > 1]
    for network in networks:
        if network.bridge in RESERVED:
            found.append(f"external_networks: bridge {network.bridge} is reserved for Neutron; choose another name")
        if network.interface and network.interface == features.tunnel_interface:
            found.append(
                f"external_networks: interface {network.interface} is also tunnel_interface; use two interfaces"
            )
    floating = features.floating_network
    types = [kind for network in networks if network.physnet == floating.physnet for kind in network.network_types]
    if floating.enabled and types and floating.network_type not in types:
        found.append(
            f"floating_network.network_type: {floating.network_type} is not in network_types of {floating.physnet}"
        )
    return found


class NeutronSettings(NeutronFeatures, Settings):
    """features.neutron."""

    messaging_instance: InstanceName = Field("rabbitmq", description="Name of the RabbitMQ object.")

    @model_validator(mode="after")
    def _fit(self) -> NeutronSettings:
        if found := errors(self):
            raise ValueError("; ".join(found))
        return self


def endpoint(context: Context) -> Endpoint:
    internal = context.url(SERVER, PORT)
    public = context.public_url("neutron", internal)
    return Endpoint("network", internal, public, "Networking service", sections=("nova", "placement"))


def _tags(context: Context) -> Values:
    agents = (OVN_AGENT,) if is_ovn(context) else ML2_AGENTS
    names = ("server", "db_sync", *(agent.replace("-", "_") for agent in agents))
    tags = {f"neutron_{name}": context.image("neutron") for name in names}
    if context.settings.floating_network.enabled:
        tags["neutron_bootstrap"] = context.image("keystoneclient")
    return tags


def _manifests(context: Context) -> dict[str, bool]:
    """OVN needs neither agents that use RPC nor an RPC server."""
    ovn = is_ovn(context)
    ml2 = {f"daemonset_{agent.replace('-', '_')}": not ovn for agent in ML2_AGENTS}
    return {
        **ml2,
        "deployment_rpc_server": not ovn,
        "pdb_rpc_server": not ovn,
        "daemonset_ovn_metadata_agent": ovn,
        "deployment_ovn_maintenance_worker": ovn,
    }


def _values(context: Context) -> Values:
    spec = context.spec
    name = context.name
    size = SIZES[spec.size]
    floating = context.settings.floating_network
    workers = ("rpc-server", "periodic-workers", "ovn-maintenance-worker")
    return {
        "images": {"tags": _tags(context)},
        "endpoints": {
            "cluster_domain_suffix": spec.cluster_domain,
            "network": {"hosts": {"default": SERVER}, "port": {"api": {"default": PORT}}},
            "compute_metadata": {"port": {"metadata": {"default": METADATA_PORT}}},
        },
        "network": ingress_values(context),
        "labels": {
            **placed(CONTROL_PLANE, "server", *workers, "job"),
            **placed(OPENVSWITCH, "ovs-agent"),
            **placed(GATEWAY, "dhcp-agent", "l3-agent", "metadata-agent"),
            **placed(COMPUTE, OVN_AGENT),
        },
        "pod": {
            "replicas": {
                "server": size.servers,
                "rpc-server": size.rpc_servers,
                "periodic-workers": size.periodic,
                "ovn-maintenance-worker": 1,
            },
            "resources": limits(server=size.workers, rpc_server=size.rpc_workers + size.report_workers),
        },
        "secrets": {
            "oslo_db": {"neutron": f"{name}-database"},
            "oslo_messaging": {"neutron": f"{name}-messaging", "notifications": f"{name}-notifications"},
            "identity": {"neutron": f"{name}-keystone", "admin": ADMIN_SECRET},
            "metadata": METADATA_SECRET,
        },
        "bootstrap": {
            "floating_network": floating.model_dump(mode="json", exclude={"enabled"}) if floating.enabled else None
        },
        "conf": conf(context),
        "manifests": _manifests(context),
    }


def _contracts(context: Context) -> tuple[Contract, ...]:
    return (
        database(context.name),
        messaging(context.name, context.settings.messaging_instance),
        notifications(context.name),
        identity(context, endpoint(context)),
    )


def _secrets(context: Context) -> tuple[Secret, ...]:
    """The secret that Nova and the metadata agents share, in the format of each."""
    shared = "metadata_proxy_shared_secret = {secret}\n"
    templates = {
        "nova.conf": f"[neutron]\nservice_metadata_proxy = true\n{shared}",
        "metadata.conf": f"[DEFAULT]\n{shared}",
    }
    return (Secret(METADATA_SECRET, generated=("secret",), templates=templates),)


SERVICE = Service(
    service="networking",
    name="neutron",
    group="openstack",
    resource=Neutron,
    charts=(
        Chart(
            "neutron",
            _values,
            (*ML2_AGENTS, OVN_AGENT),
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
        ),
        OPENVSWITCH_CHART,
        OVN_CHART,
    ),
    secrets=_secrets,
    contracts=_contracts,
    settings=NeutronSettings,
    labels=(CONTROL_PLANE, OPENVSWITCH, GATEWAY),
    conf_files={"neutron": "neutron"},
    requires=lambda settings: ("database", "messaging", "identity"),
    driver=lambda settings: settings.backend,
)
