"""Whether the requests of the clouds' pods fit the nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
_GIB = Decimal(1 << 30)


def check(seen: Observed, demand: Demand) -> list[Finding]:
    """For each set of nodes, by their labels: the requests of the pods that must run there, against what is free.

    A sum can fit although a single pod does not; pods that may run on several sets count for their own set only.
    """
    if not demand.clouds or not seen.knows(NODE):
        return []
    if demand.pods is None:
        text = "The requests of the clouds' pods are not known, because helm was not found."
        return [Finding("capacity", "note", text, "Install helm, or run `make tools`.")]
    if not seen.knows(POD):
        text = "What is free on the nodes is not known, because this user may not list pods."
        return [Finding("capacity", "note", text, "Use a cluster administrator.")]
    nodes = [node for node in seen.all(NODE) if is_usable(node, demand.tolerations)]
    others = [pod for pod in seen.all(POD) if pod["metadata"].get("namespace") not in demand.namespaces]
    found: list[Finding] = []
    for selector in dict.fromkeys(tuple(sorted(pods.selector.items())) for pods in demand.pods):
        there = [node for node in nodes if dict(selector).items() <= (node["metadata"].get("labels") or {}).items()]
        if there:  # otherwise the label is missing, which is a finding of its own
            mine = [pods for pods in demand.pods if tuple(sorted(pods.selector.items())) == selector]
            found.append(_fits(dict(selector), there, mine, others))
    return found


def _fits(
    selector: Mapping[str, str], nodes: Sequence[Object], wanted: Iterable[Pods], others: Sequence[Object]
) -> Finding:
    names = {node["metadata"]["name"] for node in nodes}
    where = ", ".join(f"{key}={value}" for key, value in selector.items()) or "all nodes"
    subject = f"capacity of {where}"
    needs, frees = _needed(wanted, len(nodes)), dict.fromkeys(RESOURCES, Decimal(0))
    for resource in RESOURCES:
        has = sum(
            (_amount((node.get("status") or {}).get("allocatable") or {}, resource) for node in nodes), Decimal(0)
        )
        frees[resource] = has - sum(
            (requested(pod["spec"], resource) for pod in others if _runs_on(pod, names)), Decimal(0)
        )
    text = f"requested: {_shown(needs)}; free on {len(nodes)} nodes: {_shown(frees)}"
    if any(needs[resource] > frees[resource] for resource in RESOURCES):
        return Finding(
            subject,
            "problem",
            text,
            f"Add nodes with this label, or choose a smaller spec.size: `kubectl label node NODE {where}`.",
        )
    return Finding(subject, "ok", text)


def _needed(wanted: Iterable[Pods], nodes: int) -> dict[str, Decimal]:
    found = dict.fromkeys(RESOURCES, Decimal(0))
    for pods in wanted:
        count = nodes if pods.count is None else pods.count
        found["cpu"] += count * pods.cpu
        found["memory"] += count * pods.memory
    return found


def _runs_on(pod: Object, names: set[str]) -> bool:
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not ended and (pod.get("spec") or {}).get("nodeName") in names


def _amount(quantities: Mapping[str, Any], resource: str) -> Decimal:
    try:
        return amount(str(quantities.get(resource, 0)))
    except ValueError:
        return Decimal(0)


def _shown(amounts: Mapping[str, Decimal]) -> str:
    return f"{amounts['cpu']:.1f} CPU and {amounts['memory'] / _GIB:.1f} GiB"
