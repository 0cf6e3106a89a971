"""Values, contracts and the Secret of Neutron."""

from __future__ import annotations

from stackwright.services.context import COMPUTE, CONTROL_PLANE, GATEWAY, OPENVSWITCH, Context, Values, placed
from stackwright.services.declaration import Contract, Secret
from stackwright.services.designate.clients import SECTION
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.keystone.values import ADMIN_SECRET
from stackwright.services.mariadb.accounts import database
from stackwright.services.neutron import ovn, ovs
from stackwright.services.neutron.conf import SIZES, conf
from stackwright.services.neutron.features import NeutronSettings
from stackwright.services.neutron.ovn import is_ovn
from stackwright.services.rabbitmq.accounts import messaging, notifications
from stackwright.services.sizes import limits

PORT = 9696
SERVER = "neutron-server"
METADATA_PORT = 8775
METADATA_SECRET = "neutron-metadata-proxy"  # noqa: S105 - the name of a Secret


def endpoint(context: Context) -> Endpoint:
    internal = context.url(SERVER, PORT)
    public = context.public_url("neutron", internal)
    return Endpoint("network", internal, public, "Networking service", sections=("nova", "placement", SECTION))


def images(settings: NeutronSettings) -> dict[str, str]:
    agents = (ovn.AGENT,) if is_ovn(settings) else ovs.COMPONENTS
    names = ("server", "db_sync", *(agent.replace("-", "_") for agent in agents))
    bootstrap = {"neutron_bootstrap": "keystoneclient"} if settings.floating_network.enabled else {}
    return {**{f"neutron_{name}": "neutron" for name in names}, **bootstrap}


def _manifests(context: Context) -> dict[str, bool]:
    """OVN needs neither agents that use RPC nor an RPC server."""
    with_ovn = is_ovn(context.settings)
    ml2 = {f"daemonset_{agent.replace('-', '_')}": not with_ovn for agent in ovs.COMPONENTS}
    return {
        **ml2,
        "deployment_rpc_server": not with_ovn,
        "pdb_rpc_server": not with_ovn,
        "daemonset_ovn_metadata_agent": with_ovn,
        "deployment_ovn_maintenance_worker": with_ovn,
    }


def chart_values(context: Context) -> Values:
    spec = context.spec
    name = context.name
    size = SIZES[spec.size]
    floating = context.settings.floating_network
    workers = ("rpc-server", "periodic-workers", "ovn-maintenance-worker")
    return {
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
            **placed(COMPUTE, ovn.AGENT),
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
            "tls": {"ovn": ovn.TLS if is_ovn(context.settings) else None},
        },
        "bootstrap": {
            "floating_network": floating.model_dump(mode="json", exclude={"enabled"}) if floating.enabled else None
        },
        "conf": conf(context),
        "manifests": _manifests(context),
    }


def contracts(context: Context) -> tuple[Contract, ...]:
    return (
        database(context.name),
        messaging(context.name, context.settings.messaging_instance),
        notifications(context.name),
        identity(context, endpoint(context)),
    )


def secrets(context: Context) -> tuple[Secret, ...]:
    """The secret that Nova and the metadata agents share, in each one's format."""
    shared = "metadata_proxy_shared_secret = {secret}\n"
    templates = {
        "nova.conf": f"[neutron]\nservice_metadata_proxy = true\n{shared}",
        "metadata.conf": f"[DEFAULT]\n{shared}",
    }
    return (Secret(METADATA_SECRET, generated=("secret",), templates=templates),)
