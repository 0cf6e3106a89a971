"""What must be there before what: an explicit graph, so that order can be computed, shown and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def waves(needs: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups that may be done at the same time, in order; needs of nodes that are not in the graph are ignored.

    Raises ValueError with the nodes of a cycle.
    """
    left = {node: {need for need in wanted if need in needs} for node, wanted in needs.items()}
    order: list[list[str]] = []
    while left:
        ready = sorted(node for node, wanted in left.items() if not wanted)
        if not ready:
            raise ValueError(f"these need each other: {', '.join(sorted(left))}")
        order.append(ready)
        done = set(ready)
        left = {node: wanted - done for node, wanted in left.items() if node not in done}
    return order
