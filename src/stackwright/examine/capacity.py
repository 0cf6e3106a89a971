"""Whether the requests of the clouds' pods fit the nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from stackwright.api.kinds import NODE, POD
from stackwright.core.kubernetes.quantity import amount
from stackwright.core.plan import Object
from stackwright.examine.demand import Demand, Pods, requested
from stackwright.examine.nodes import is_usable
from stackwright.examine.observe import Observed
from stackwright.local.cluster.doctor import Finding

RESOURCES = ("cpu", "memory")
Place = frozenset[str]  # names of nodes
_GIB = Decimal(1 << 30)


def check(seen: Observed, demand: Demand) -> list[Finding]:
    """For each set of nodes, by their labels: the requests of all pods that must run there, against what is free.

    A node with several labels is counted once: sets that share nodes are also compared together, which is a finding if
    only together they are too small. A sum can fit although a single pod does not.
    """
    if not demand.clouds or not seen.knows(NODE):
        return []
    if demand.pods is None:
        text = "The requests of the clouds' pods are not known, because helm was not found."
        return [Finding("capacity", "note", text, "Install helm, or run `make tools`.")]
    if not seen.knows(POD):
        text = "What is free on the nodes is not known, because this user may not list pods."
        return [Finding("capacity", "note", text, "Use a cluster administrator.")]
    nodes = {node["metadata"]["name"]: node for node in seen.all(NODE) if is_usable(node, demand.tolerations)}
    others = [pod for pod in seen.all(POD) if pod["metadata"].get("namespace") not in demand.namespaces]
    placed = [(pods, frozenset(_selected(pods, nodes))) for pods in demand.pods]
    places = list(dict.fromkeys(place for _, place in placed if place))  # a label that is missing is another finding
    found: list[Finding] = []
    full: list[Place] = []
    for place in [*places, *_joined(places)]:
        finding = _fits(place, placed, [nodes[name] for name in place], others)
        if place in places or (finding.level != "ok" and not any(part < place for part in full)):
            found.append(finding)
        if finding.level != "ok":
            full.append(place)
    return found


def _selected(pods: Pods, nodes: Mapping[str, Object]) -> list[str]:
    wanted = pods.selector.items()
    return [name for name, node in nodes.items() if wanted <= (node["metadata"].get("labels") or {}).items()]


def _joined(places: Sequence[Place]) -> list[Place]:
    """The unions of places that share nodes, smaller ones first.

    If the pods that must run in a place fit each of these, all fit together (Hall's theorem), as far as sums tell.
    """
    found = set(places)
    while new := {one | other for one in found for other in places if one & other} - found:
        found |= new
    return sorted(found - set(places), key=lambda place: (len(place), sorted(place)))


def _fits(
    place: Place, placed: Sequence[tuple[Pods, Place]], nodes: Sequence[Object], others: Sequence[Object]
) -> Finding:
    needs, frees = dict.fromkeys(RESOURCES, Decimal(0)), dict.fromkeys(RESOURCES, Decimal(0))
    selectors: dict[str, None] = {}  # of the pods that must run here; "" if all nodes are theirs
    for pods, there in placed:
        # One on each node runs also on those nodes that are only a part of its own.
        count = len(place & there) if pods.count is None else pods.count if there <= place else 0
        needs["cpu"] += count * pods.cpu
        needs["memory"] += count * pods.memory
        if there and there <= place:
            selectors[" ".join(f"{key}={value}" for key, value in sorted(pods.selector.items()))] = None
    for resource in RESOURCES:
        frees[resource] = sum(
            (_amount((node.get("status") or {}).get("allocatable") or {}, resource) for node in nodes), Decimal(0)
        ) - sum((requested(pod["spec"], resource) for pod in others if _runs_on(pod, place)), Decimal(0))
    subject = f"capacity of {' and '.join(each or 'all nodes' for each in selectors)}"
    text = f"requested: {_shown(needs)}; free on {len(nodes)} nodes: {_shown(frees)}"
    if all(needs[resource] <= frees[resource] for resource in RESOURCES):
        return Finding(subject, "ok", text)
    if len(selectors) > 1:
        text = f"They share nodes, so their pods share what is free. {text}"
    labels = " ".join(filter(None, selectors))
    remedy = f"Label further nodes with `kubectl label node NODE {labels}`" if labels else "Add nodes"
    return Finding(subject, "problem", text, f"{remedy}, or choose a smaller spec.size.")


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
