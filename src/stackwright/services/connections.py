"""The table of allowed connections inside a cloud, the source of network policies. Pure.

It is assembled from the declarations: a chart lists its listeners, and the other charts' listeners to which its pods
connect. A pod in the table accepts only the listed connections; replies, and probes from its own node, are always
allowed. Pods on the host network have the node's address, so the table contains the label of their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from stackwright.services.context import Context
from stackwright.services.declaration import OPERATOR, Chart, Source
from stackwright.services.registry import SERVICES

NAMESPACE_NAME = "kubernetes.io/metadata.name"  # a label that only the API server can set


DNS = 53


@dataclass(frozen=True)
class Connection:
    """Connections from `sources`, or from anyone, to a component, on some ports of TCP and UDP (both empty: all)."""

    application: str
    component: str
    ports: tuple[int, ...]
    sources: tuple[Source, ...]
    udp: tuple[int, ...] = ()
    anyone: bool = False

    @property
    def rule(self) -> dict[str, Any]:
        """The ports, as a part of a rule."""
        numbers = [("TCP", port) for port in self.ports] + [("UDP", port) for port in self.udp]
        return {"ports": [{"port": port, "protocol": name} for name, port in numbers]} if numbers else {}


_CHARTS: tuple[Chart, ...] = tuple(chart for declared in SERVICES for chart in declared.charts)


def _callers(name: str) -> Iterator[Source]:
    """Sources that declare connections to a listener: applications, then labels of nodes."""
    yield from (chart.name for chart in _CHARTS if name in chart.calls)
    yield from (label for chart in _CHARTS for label, names in chart.host_calls.items() if name in names)


CONNECTIONS = tuple(
    Connection(
        chart.name,
        listener.component,
        listener.ports,
        (*(dict.fromkeys(_callers(listener.name)) if listener.name else ()), *listener.sources),
        listener.udp,
        listener.anyone,
    )
    for chart in _CHARTS
    for listener in chart.listens
)


def policies(context: Context, chart: str) -> dict[str, Any]:
    """Component → rules of its NetworkPolicy in Kubernetes' format, for the pods of a chart."""
    found: dict[str, list[dict[str, Any]]] = {}
    for connection in CONNECTIONS:
        if connection.application != chart:
            continue
        rules = found.setdefault(connection.component, [])
        if connection.anyone:
            rules.append(connection.rule)
        elif peers := _peers(context, connection.sources):
            rules.append({"from": peers, **connection.rule})
    return found


def egress(chart: Chart) -> dict[str, Any]:
    """Component → rules for the connections that pods of a confined chart open: those of the table, and to DNS.

    DNS may be an address of the node, which no selector of pods matches.
    """
    if not chart.confined:
        return {}
    rules: list[dict[str, Any]] = [{"ports": [{"port": DNS, "protocol": name} for name in ("UDP", "TCP")]}]
    for connection in CONNECTIONS:
        if chart.name in connection.sources:
            labels = {"application": connection.application, "component": connection.component}
            rules.append({"to": [{"podSelector": {"matchLabels": labels}}], **connection.rule})
    return {listener.component: rules for listener in chart.listens}


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
