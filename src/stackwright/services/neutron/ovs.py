"""Open vSwitch and OVN: the releases of the networking service with the nodes' switches. Pure."""

from __future__ import annotations

from stackwright.services.context import CONTROL_PLANE, GATEWAY, OPENVSWITCH, Context, Values, placed
from stackwright.services.declaration import Chart, Listener
from stackwright.services.neutron.features import NeutronSettings

NORTHBOUND = ("ovn-ovsdb-nb", 6641)
SOUTHBOUND = ("ovn-ovsdb-sb", 6642)


def is_ovn(settings: NeutronSettings) -> bool:
    return settings.backend == "ml2/ovn"


def bridge_mappings(context: Context) -> list[str]:
    """physnet:bridge of each physical network."""
    return [f"{network.physnet}:{network.bridge}" for network in context.settings.external_networks]


def remote(context: Context, service: tuple[str, int]) -> str:
    """The address of a database in the format of OVN's clients."""
    return f"tcp:{context.host(service[0])}:{service[1]}"


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
    spec = context.spec
    return {
        "endpoints": {
            "cluster_domain_suffix": spec.cluster_domain,
            **{
                key: {"hosts": {"default": name}, "port": {"ovsdb": {"default": port}}}
                for key, (name, port) in (("ovn_ovsdb_nb", NORTHBOUND), ("ovn_ovsdb_sb", SOUTHBOUND))
            },
        },
        "labels": {**placed(CONTROL_PLANE, "ovsdb-nb", "ovsdb-sb", "northd"), **placed(OPENVSWITCH, "controller")},
        "volume": {"class_name": spec.storage_class or None},
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
    claims=("ovsdb-nb", "ovsdb-sb"),
    listens=(
        Listener("ovsdb-nb", (NORTHBOUND[1],), name="ovn-northbound"),
        Listener("ovsdb-sb", (SOUTHBOUND[1],), name="ovn-southbound"),
        Listener("northd"),
    ),
    calls=("ovn-northbound", "ovn-southbound"),
)
