"""OVN: its release, the connections to its databases, and its agents on nodes. Pure."""

from __future__ import annotations

from stackwright.api.rules import at, sets
from stackwright.api.services.voters import DEFAULT, VOTERS, count_of
from stackwright.services.context import CONTROL_PLANE, GATEWAY, OPENVSWITCH, Context, Values, placed
from stackwright.services.declaration import Certificate, Chart, Listener, NodeAgent
from stackwright.services.neutron.features import NeutronSettings
from stackwright.services.neutron.ovs import bridge_mappings

CHART_NAME = "ovn"
DATABASES = "ovn-ovsdb"
MOST = 3  # members: the maximum of the chart's schema, for values that are not validated yet
PORTS = {"nb": 6641, "sb": 6642}  # of the northbound and the southbound database
RAFT = (6643, 6644)
TLS = "ovn-tls"
TLS_FOLDER = "/run/secrets/ovn-tls"  # of the chart neutron, with its `secrets.tls.ovn`
AGENT = "ovn-metadata-agent"


def is_ovn(settings: NeutronSettings) -> bool:
    return settings.backend == "ml2/ovn"


def hosts(context: Context) -> list[str]:
    """The members of the databases, whose number an override may raise."""
    members, path = VOTERS[context.spec.size], f"{CHART_NAME}.{CHART.voters_field}"
    for override in context.spec.overrides:
        if sets(override.values, path):
            members = count_of(at(override.values, path)) or DEFAULT
    return [context.host(f"{DATABASES}-{member}") for member in range(min(members, MOST))]


def options(context: Context, *databases: str) -> Values:
    """Options of Neutron for connections to `nb` and `sb`."""
    files = {"private_key": "tls.key", "certificate": "tls.crt", "ca_cert": "ca.crt"}
    found: Values = {}
    for name in databases:
        found[f"ovn_{name}_connection"] = ",".join(f"ssl:{host}:{PORTS[name]}" for host in hosts(context))
        found |= {f"ovn_{name}_{option}": f"{TLS_FOLDER}/{file}" for option, file in files.items()}
    return found


def certificates(context: Context) -> tuple[Certificate, ...]:
    """One certificate for the members of the databases, which are clients of each other, and for other clients.

    Open vSwitch checks the issuer, and no names.
    """
    if not is_ovn(context.settings):
        return ()
    return (Certificate(TLS, names=(*hosts(context), f"*.{context.host(f'{DATABASES}-discovery')}")),)


def _ovn_values(context: Context) -> Values:
    members = VOTERS[context.spec.size]
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


# With it, Neutron deletes the chassis, and so the metadata agent, whose node may keep the role of a gateway.
AGENTS = (NodeAgent("ovn-controller", "controller", OPENVSWITCH, is_ovn),)
CHART = Chart(
    CHART_NAME,
    _ovn_values,
    images=lambda settings: dict.fromkeys(("ovn_ovsdb_nb", "ovn_ovsdb_sb", "ovn_northd", "ovn_controller"), "ovn"),
    daemonsets=("controller",),
    wanted=is_ovn,
    claims=("ovsdb",),
    voters="ovsdb",
    listens=(
        Listener("ovsdb", (PORTS["nb"],), name="ovn-northbound"),
        Listener("ovsdb", (PORTS["sb"],), name="ovn-southbound"),
        Listener("ovsdb", RAFT, sources=("ovn",)),
        Listener("northd"),
    ),
    calls=("ovn-northbound", "ovn-southbound"),
)
