"""Checks whether the nodes have capacity for the requests of the clouds' pods. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from stackwright.api.kinds import NODE, POD
from stackwright.core.findings import Finding
from stackwright.core.kubernetes.quantity import amount
from stackwright.core.plan import Object
from stackwright.examine.demand import Demand, Pods, requested
from stackwright.examine.nodes import is_usable
from stackwright.examine.observe import Observed

RESOURCES = ("cpu", "memory")
Place = frozenset[str]  # names of nodes
_GIB = Decimal(1 << 30)


def check(seen: Observed, demand: Demand) -> list[Finding]:
    """Compares, for each set of nodes by their labels, the requests of all pods that must run there with the free part.

    A node with several labels is counted once: sets that share nodes are also compared together, and reported if only
    together they are too small. A sum can be sufficient although a single pod does not fit.
    """
    if not demand.clouds or not seen.knows(NODE):
        return []
    if demand.pods is None:
        text = "The requests of the clouds' pods are not known, because helm was not found."
        return [Finding("capacity", "note", text, "Install helm, or run `make tools`.")]
    if not seen.knows(POD):
        why, remedy = seen.unknown(POD, "pods")
        return [Finding("capacity", "note", f"What is free on the nodes is not known. {why}", remedy)]
    nodes = {node["metadata"]["name"]: node for node in seen.all(NODE) if is_usable(node, demand.tolerations)}
    others = [pod for pod in seen.all(POD) if pod["metadata"].get("namespace") not in demand.namespaces]
    placed = [(pods, frozenset(_selected(pods, nodes))) for pods in demand.pods]
    places = list(dict.fromkeys(place for _, place in placed if place))  # another check reports missing labels
    found = {place: _fits(place, placed, [nodes[name] for name in place], others) for place in places}
    groups = {frozenset(group) for group in _grouped(nodes, places)}
    full = [place for place, finding in found.items() if finding.level != "ok"]
    for resource in RESOURCES:
        needs = {place: _needed(place, placed, resource) for place in places if place not in full}
        frees = {group: _left(group, placed, [nodes[name] for name in group], others, resource) for group in groups}
        while crowd := _crowd(needs, frees):
            together = frozenset[str]().union(*crowd)
            if not any(part <= together for part in full):
                found[together] = _fits(together, placed, [nodes[name] for name in together], others)
                full.append(together)
            needs = {place: need for place, need in needs.items() if place not in crowd}
    return list(found.values())


def _selected(pods: Pods, nodes: Mapping[str, Object]) -> list[str]:
    wanted = pods.selector.items()
    return [name for name, node in nodes.items() if wanted <= (node["metadata"].get("labels") or {}).items()]


def _needed(place: Place, placed: Sequence[tuple[Pods, Place]], resource: str) -> Decimal:
    """The requests of the pods that run on any node of a place, without those that run on each node."""
    return sum(
        (each.count * getattr(each, resource) for each, there in placed if there == place and each.count), Decimal(0)
    )


def _grouped(names: Iterable[str], places: Sequence[Place]) -> Iterable[list[str]]:
    """The nodes, grouped by the places that contain them."""
    groups: dict[tuple[bool, ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(name in place for place in places), []).append(name)
    return groups.values()


def _left(
    group: Place,
    placed: Sequence[tuple[Pods, Place]],
    nodes: Sequence[Object],
    others: Sequence[Object],
    resource: str,
) -> Decimal:
    """The free capacity of a group of nodes, without the requests of pods that run on each node."""
    daemons = (getattr(each, resource) * len(group & there) for each, there in placed if each.count is None)
    return _free(nodes, group, others, resource) - sum(daemons, Decimal(0))


def _crowd(needs: Mapping[Place, Decimal], frees: Mapping[Place, Decimal]) -> set[Place]:
    """A minimal set of places that together need more than is free in them; empty if all places fit. Without any one of
    them, the others fit.

    The time is polynomial. The number of unions of places is not: 30 labels on one common node have 2^30 unions.
    """
    crowd = _unserved(needs, frees)
    for place in sorted(crowd, key=sorted):
        if rest := _unserved({each: needs[each] for each in crowd - {place}}, frees):
            crowd = rest
    return crowd


def _unserved(needs: Mapping[Place, Decimal], frees: Mapping[Place, Decimal]) -> set[Place]:
    """A set of places that together need more than is free in them; empty without such a set.

    Serves each place along augmenting paths. If a search finds no free capacity, the places that it searched use all
    capacity of their nodes (Hall's theorem).
    """
    free, used = dict(frees), dict[tuple[Place, Place], Decimal]()
    for place, need in needs.items():
        while need > 0:
            path, searched = _path(place, free, used)
            if not path:
                return searched
            given = [used[taker, path[at][1]] for at, (taker, _) in enumerate(path[1:])]
            moved = min(need, free[path[-1][1]], *given)
            for at, (taker, group) in enumerate(path):
                used[taker, group] = used.get((taker, group), Decimal(0)) + moved
                if at:
                    used[taker, path[at - 1][1]] -= moved
            free[path[-1][1]] -= moved
            need -= moved
    return set()


def _path(
    start: Place, free: Mapping[Place, Decimal], used: Mapping[tuple[Place, Place], Decimal]
) -> tuple[list[tuple[Place, Place]], set[Place]]:
    """The shortest path to a group of nodes with free capacity, and the places searched.

    Each place of the path takes capacity of its group, and returns to the previous place the capacity that it used of
    that place's group.
    """
    paths: dict[Place, list[tuple[Place, Place]]] = {start: []}
    queue, searched = deque([start]), set[Place]()
    while queue:
        place = queue.popleft()
        for group in [each for each in free if each <= place and each not in searched]:
            searched.add(group)
            path = [*paths[place], (place, group)]
            if free[group] > 0:
                return path, set(paths)
            for (other, there), taken in used.items():
                if there == group and taken > 0 and other not in paths:
                    paths[other] = path
                    queue.append(other)
    return [], set(paths)


def _fits(
    place: Place, placed: Sequence[tuple[Pods, Place]], nodes: Sequence[Object], others: Sequence[Object]
) -> Finding:
    needs, frees = dict.fromkeys(RESOURCES, Decimal(0)), dict.fromkeys(RESOURCES, Decimal(0))
    selectors: dict[str, None] = {}  # selectors of the pods that must run here; "" without a selector
    for pods, there in placed:
        # A pod on each of its nodes also runs on nodes here if these are only a part of its nodes.
        count = len(place & there) if pods.count is None else pods.count if there <= place else 0
        needs["cpu"] += count * pods.cpu
        needs["memory"] += count * pods.memory
        if there and there <= place:
            selectors[" ".join(f"{key}={value}" for key, value in sorted(pods.selector.items()))] = None
    for resource in RESOURCES:
        frees[resource] = _free(nodes, place, others, resource)
    subject = f"capacity of {' and '.join(each or 'all nodes' for each in selectors)}"
    text = f"requested: {_shown(needs)}; free on {len(nodes)} nodes: {_shown(frees)}"
    if all(needs[resource] <= frees[resource] for resource in RESOURCES):
        return Finding(subject, "ok", text)
    if len(selectors) > 1:
        text = f"They share nodes, so their pods share what is free. {text}"
    labels = " ".join(filter(None, selectors))
    remedy = f"Label further nodes with `kubectl label node NODE {labels}`" if labels else "Add nodes"
    return Finding(subject, "problem", text, f"{remedy}, or choose a smaller spec.size.")


def _free(nodes: Sequence[Object], names: Place, others: Sequence[Object], resource: str) -> Decimal:
    given = sum((_amount((node.get("status") or {}).get("allocatable") or {}, resource) for node in nodes), Decimal(0))
    return given - sum((requested(pod["spec"], resource) for pod in others if _runs_on(pod, names)), Decimal(0))


def _runs_on(pod: Object, names: Place) -> bool:
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not ended and (pod.get("spec") or {}).get("nodeName") in names


def _amount(quantities: Mapping[str, Any], resource: str) -> Decimal:
    try:
        return amount(str(quantities.get(resource, 0)))
    except ValueError:
        return Decimal(0)


def _shown(amounts: Mapping[str, Decimal]) -> str:
    return f"{amounts['cpu']:.1f} CPU and {amounts['memory'] / _GIB:.1f} GiB"
