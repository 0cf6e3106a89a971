"""Open vSwitch and OVN: the releases of the networking service with the nodes' switches. Pure."""

from __future__ import annotations

from stackwright.api.services.kinds import Size
from stackwright.services.context import CONTROL_PLANE, GATEWAY, OPENVSWITCH, Context, Values, placed
from stackwright.services.declaration import Certificate, Chart, Listener
from stackwright.services.neutron.features import NeutronSettings

DATABASES = "ovn-ovsdb"
NORTHBOUND, SOUTHBOUND = 6641, 6642
RAFT = (6643, 6644)
TLS = "ovn-tls"
MEMBERS: dict[Size, int] = {"single": 1, "tiny": 3, "small": 3, "medium": 3}


def is_ovn(settings: NeutronSettings) -> bool:
    return settings.backend == "ml2/ovn"


def without_ovn(settings: NeutronSettings) -> bool:
    return not is_ovn(settings)


def bridge_mappings(context: Context) -> list[str]:
    """physnet:bridge of each physical network."""
    return [f"{network.physnet}:{network.bridge}" for network in context.settings.external_networks]


def remotes(context: Context, port: int) -> str:
    """The members of a database, in the format of OVN's clients."""
    members = range(MEMBERS[context.spec.size])
    return ",".join(f"ssl:{context.host(f'{DATABASES}-{member}')}:{port}" for member in members)


def certificates(context: Context) -> tuple[Certificate, ...]:
    """One certificate for the members of the databases, which are clients of each other, and for other clients."""
    names = (f"{DATABASES}.{context.namespace}.svc", f"*.{context.host(f'{DATABASES}-discovery')}")
    return (Certificate(TLS, names=names),) if is_ovn(context.settings) else ()


def _openvswitch_values(context: Context) -> Values:
    bridges = [
        {"bridge": network.bridge, "physnet": network.physnet, "interface": network.interface}
        for network in context.settings.external_networks
    ]
    return {
        "labels": placed(OPENVSWITCH, "openvswitch"),
        "conf": {"tunnel_interface": context.settings.tunnel_interface, "bridges": bridges},
    }


def _ovn_values(context: Context) -> Values:
    members = MEMBERS[context.spec.size]
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": {**placed(CONTROL_PLANE, "ovsdb", "northd"), **placed(OPENVSWITCH, "controller")},
        "pod": {"replicas": {"ovsdb": members, "northd": min(members, 2)}},
        "secrets": {"tls": {"ovn": TLS}},
        "volume": {"class_name": context.spec.storage_class or None},
        "conf": {
            "bridge_mappings": bridge_mappings(context),
            "gateways": sorted(node.name for node in context.labelled(GATEWAY)),
        },
    }


OPENVSWITCH_CHART = Chart(
    "openvswitch",
    _openvswitch_values,
    images=lambda settings: {"openvswitch_db_server": "openvswitch", "openvswitch_vswitchd": "openvswitch"},
    daemonsets=("openvswitch",),
)
OVN_CHART = Chart(
    "ovn",
    _ovn_values,
    images=lambda settings: dict.fromkeys(("ovn_ovsdb_nb", "ovn_ovsdb_sb", "ovn_northd", "ovn_controller"), "ovn"),
    daemonsets=("controller",),
    wanted=is_ovn,
    claims=("ovsdb",),
    voters="ovsdb",
    listens=(
        Listener("ovsdb", (NORTHBOUND,), name="ovn-northbound"),
        Listener("ovsdb", (SOUTHBOUND,), name="ovn-southbound"),
        Listener("ovsdb", (NORTHBOUND, SOUTHBOUND, *RAFT), sources=("ovn",)),
        Listener("northd"),
    ),
    calls=("ovn-northbound", "ovn-southbound"),
)
