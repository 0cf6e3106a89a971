"""Nodes of the Kubernetes cluster, and which of them are available. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from stackwright.core.conditions import is_true

Object = Mapping[str, Any]
NAMED = 5  # nodes that a message names


def is_up(node: Object) -> bool:
    """Whether its kubelet answers, as far as Kubernetes knows."""
    return is_true(node)


def away(nodes: Iterable[Object]) -> frozenset[str]:
    return frozenset(node["metadata"]["name"] for node in nodes if not is_up(node))


def named(names: Collection[str]) -> str:
    """In words: node a; nodes a, b."""
    first = ", ".join(sorted(names)[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"node{'' if len(names) == 1 else 's'} {first}{more}"


def are(names: Collection[str]) -> str:
    """The verb to that."""
    return "is" if len(names) == 1 else "are"
