"""How far the pods of a release are, from what Kubernetes says of its workloads. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]

_COUNTS = {
    "Deployment": {"new": "updatedReplicas", "ready": "readyReplicas"},
    "StatefulSet": {"new": "updatedReplicas", "ready": "readyReplicas"},
    "DaemonSet": {"new": "updatedNumberScheduled", "ready": "numberReady"},
    "Job": {"ended": "succeeded"},
}


def counts(workloads: Iterable[Object]) -> dict[str, int]:
    """How many pods of each workload are new, and how many are ready; nothing of a workload of which Kubernetes has not
    said anything yet.
    """
    found = {}
    for each in workloads:
        status, meta = each.get("status") or {}, each["metadata"]
        if each["kind"] != "Job" and (status.get("observedGeneration") or 0) < (meta.get("generation") or 0):
            continue
        for what, field in _COUNTS[each["kind"]].items():
            if count := status.get(field):
                found[f"{each['kind']} {meta['name']}: {what}"] = int(count)
    return found


def is_starting(pod: Object) -> bool:
    """Whether its containers run, and one of them is still at its first start."""
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(each.get("started") is False for each in containers) and all(
        "running" in (each.get("state") or {}) and not each.get("restartCount") for each in containers
    )


def is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
