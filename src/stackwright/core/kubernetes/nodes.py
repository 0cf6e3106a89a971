"""Availability of the nodes of the Kubernetes cluster. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from stackwright.core.conditions import is_true

Object = Mapping[str, Any]
NAMED = 5  # nodes that a message names


def is_up(node: Object) -> bool:
    """Whether a node is Ready: Kubernetes receives the reports of its kubelet."""
    return is_true(node)


def away(nodes: Iterable[Object]) -> frozenset[str]:
    return frozenset(node["metadata"]["name"] for node in nodes if not is_up(node))


def nodes_text(names: Collection[str]) -> str:
    """The nodes as text, at most NAMED by name: "node a", "nodes a, b"."""
    first = ", ".join(sorted(names)[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"node{'' if len(names) == 1 else 's'} {first}{more}"


def is_or_are(names: Collection[str]) -> str:
    """The verb that follows `nodes_text`."""
    return "is" if len(names) == 1 else "are"
