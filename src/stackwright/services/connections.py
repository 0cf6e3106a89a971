"""The table of allowed connections inside a cloud, from which network policies are made. Pure.

A pod that the table names accepts only the listed connections; replies, and probes of its own node, are always allowed.
Pods on the host network have the node's address, so the table names them by the label of their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stackwright.services.declaration import COMPUTE, GATEWAY, OPENVSWITCH, Context

OPERATOR = "operator"
NAMESPACE_NAME = "kubernetes.io/metadata.name"  # a label that only the API server can set
Source = str | tuple[str, str]
"""An application, a node label for pods in their node's network, or the operator."""

APIS: tuple[Source, ...] = (
    "keystone", "glance", "placement", "cinder", "nova", "neutron", "horizon", "ceph-rgw", "keystoneclient",
)  # fmt: skip
AGENTS: tuple[Source, ...] = (OPENVSWITCH, GATEWAY, COMPUTE)
INGRESS: Source = "ingress"


@dataclass(frozen=True)
class Connection:
    """Connections to pods of one component, on some TCP ports (empty: all), from `sources`."""

    application: str
    component: str
    ports: tuple[int, ...]
    sources: tuple[Source, ...]


_DATABASE_USERS: tuple[Source, ...] = ("keystone", "glance", "placement", "cinder", "nova", "neutron")
_CEPH_USERS: tuple[Source, ...] = ("ceph", "ceph-rgw", "glance", "cinder", COMPUTE)
CONNECTIONS = (
    Connection("mariadb", "server", (3306,), (*_DATABASE_USERS, OPERATOR)),
    Connection("mariadb", "server", (3306, 4444, 4567, 4568, 4569), ("mariadb",)),
    Connection("rabbitmq", "server", (5672,), ("keystone", "glance", "cinder", "nova", "neutron", *AGENTS)),
    Connection("rabbitmq", "server", (15672,), (OPERATOR,)),
    Connection("memcached", "server", (11211,), APIS),
    Connection("keystone", "api", (5000,), (*APIS, *AGENTS, INGRESS, OPERATOR)),
    # Glance: to the pod in which an upload waits for its import.
    Connection(
        "glance", "api", (9292,), ("glance", "nova", "cinder", "horizon", "keystoneclient", COMPUTE, INGRESS, OPERATOR)
    ),
    Connection("placement", "api", (8778,), ("nova", "neutron", "horizon", "keystoneclient", COMPUTE, INGRESS)),
    Connection(
        "nova", "api-osapi", (8774,), ("neutron", "cinder", "horizon", "keystoneclient", COMPUTE, INGRESS, OPERATOR)
    ),
    Connection("nova", "api-metadata", (8775,), (GATEWAY, COMPUTE)),
    Connection("nova", "novncproxy", (6080,), (INGRESS,)),
    Connection(
        "neutron", "server", (9696,), ("nova", "neutron", "horizon", "keystoneclient", COMPUTE, INGRESS, OPERATOR)
    ),
    # Cinder: its Job that makes volume types.
    Connection(
        "cinder", "api", (8776,), ("cinder", "nova", "glance", "horizon", "keystoneclient", COMPUTE, INGRESS, OPERATOR)
    ),
    Connection("etcd", "server", (2379,), ("cinder",)),
    Connection("etcd", "server", (2379, 2380, 2381, 2382), ("etcd",)),
    # Ceph's daemons listen on ports that they choose themselves.
    *(Connection("ceph", component, (), _CEPH_USERS) for component in ("mon", "mgr", "osd")),
    Connection("ceph-rgw", "api", (8080,), ("cinder", "glance", "horizon", "keystoneclient", INGRESS)),
    Connection("horizon", "horizon", (8080,), (INGRESS,)),
    Connection("ovn", "ovsdb-nb", (6641,), ("neutron", "ovn")),
    Connection("ovn", "ovsdb-sb", (6642,), ("neutron", "ovn", *AGENTS)),
    # These components are only clients.
    *(
        Connection(application, component, (), ())
        for application, component in (
            ("nova", "conductor"),
            ("nova", "scheduler"),
            ("neutron", "rpc-server"),
            ("neutron", "periodic-workers"),
            ("neutron", "ovn-maintenance-worker"),
            ("ovn", "northd"),
            ("cinder", "scheduler"),
            ("cinder", "volume"),
            ("cinder", "backup"),
            ("ceph", "watch"),
            ("ceph", "provide"),
            ("keystoneclient", "client"),
        )
    ),
)


def policies(context: Context, chart: str) -> dict[str, Any]:
    """Component → rules of its NetworkPolicy in Kubernetes' format, for the pods of a chart."""
    found: dict[str, list[dict[str, Any]]] = {}
    for connection in CONNECTIONS:
        if connection.application != chart:
            continue
        rules = found.setdefault(connection.component, [])
        peers = _peers(context, connection.sources)
        if peers:
            ports = [{"port": port, "protocol": "TCP"} for port in connection.ports]
            rules.append({"from": peers, **({"ports": ports} if ports else {})})
    return found


def _peers(context: Context, sources: Iterable[Source]) -> list[dict[str, Any]]:
    peers: list[dict[str, Any]] = []
    addresses: set[str] = set()
    for source in sources:
        if isinstance(source, tuple):
            addresses |= {node.address for node in context.labelled(source) if node.address}
        elif source == OPERATOR:
            peers.append(
                {
                    "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: context.operator}},
                    "podSelector": {"matchLabels": {"application": "stackwright", "component": "operator"}},
                }
            )
        else:
            peers.append({"podSelector": {"matchLabels": {"application": source}}})
    return peers + [{"ipBlock": {"cidr": f"{address}/{_bits(address)}"}} for address in sorted(addresses)]


def _bits(address: str) -> int:
    return 128 if ":" in address else 32
