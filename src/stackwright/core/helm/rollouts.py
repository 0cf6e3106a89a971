"""The progress of the pods of a release, from Kubernetes' status of its workloads. Pure.

Pods on unavailable nodes are ignored: they show nothing about the release and cannot be changed. Kubernetes counts them
as desired and as unavailable, so a DaemonSet or StatefulSet may replace no pod while one is unavailable. Such a rollout
waits for the node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from stackwright.core.conditions import find, is_true
from stackwright.core.kubernetes.workload_health import is_observed, pods_of, workload_ready
from stackwright.core.objects import annotation, label

# Kubernetes' label for the template of a DaemonSet's pod.
TEMPLATE, POD_TEMPLATE = "deprecated.daemonset.template.generation", "pod-template-generation"

Object = Mapping[str, Any]

_COUNTS = {
    "Deployment": {"new": "updatedReplicas", "ready": "readyReplicas"},
    "StatefulSet": {"new": "updatedReplicas", "ready": "readyReplicas"},
    "DaemonSet": {"new": "updatedNumberScheduled", "ready": "numberReady"},
    "Job": {"ended": "succeeded"},
}


def counts(workloads: Iterable[Object]) -> dict[str, int]:
    """The number of new pods and of ready pods, per workload.

    Workloads whose status is older than their spec are skipped.
    """
    found = {}
    for each in workloads:
        status, name = each.get("status") or {}, each["metadata"]["name"]
        if not is_observed(each):
            continue
        for what, field in _COUNTS[each["kind"]].items():
            if count := status.get(field):
                found[f"{each['kind']} {name}: {what}"] = int(count)
    return found


def own_pods(workload: Object, pods: Iterable[Object]) -> list[Object]:
    """The pods of a workload. Owners are compared: DaemonSets for single nodes have the selector of the common one."""
    found = pods_of(workload, pods)
    if workload["kind"] == "Deployment":  # its pods belong to its ReplicaSets
        return found
    uid = workload["metadata"].get("uid")
    return [pod for pod in found if uid in [each["uid"] for each in pod["metadata"].get("ownerReferences") or ()]]


def active(workload: Object, pods: Iterable[Object]) -> list[Object]:
    """The pods of a workload, for a Deployment or a Job without ended ones, such as evicted pods, which Kubernetes
    keeps for a while. Other workloads replace an ended pod under the same name or on the same node.
    """
    found = own_pods(workload, pods)
    if workload["kind"] not in ("Deployment", "Job"):
        return found
    return [pod for pod in found if (pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded")]


def lost(workload: Object, pods: Iterable[Object], away: Collection[str]) -> list[Object]:
    """Pods of a workload on unavailable nodes."""
    return [pod for pod in active(workload, pods) if node_of(pod) in away] if away else []


def is_as_wanted(workload: Object, pods: Sequence[Object], away: Collection[str]) -> bool:
    """Whether all pods of a workload are new and ready, or all those on available nodes, of at least one."""
    if workload_ready(workload):
        return True
    gone = lost(workload, pods, away)
    return _stands(workload, pods, gone, away) and len(gone) < _wanted(workload) and _is_new(workload, gone)


def is_held(workload: Object, pods: Sequence[Object], away: Collection[str]) -> bool:
    """Whether a workload that is not as wanted waits only for unavailable nodes."""
    return _stands(workload, pods, lost(workload, pods, away), away)


def _stands(workload: Object, pods: Sequence[Object], gone: Sequence[Object], away: Collection[str]) -> bool:
    """Whether some pods are on unavailable nodes, and all others, old or new, are ready."""
    if not gone or not is_observed(workload):
        return False
    others = [pod for pod in active(workload, pods) if node_of(pod) and node_of(pod) not in away]
    return all(map(is_true, others)) and _ready(workload) >= _wanted(workload) - len(gone)


def _is_new(workload: Object, gone: Sequence[Object]) -> bool:
    """Whether all pods on available nodes have the latest template."""
    status = workload.get("status") or {}
    if workload["kind"] == "DaemonSet":
        template = annotation(workload, TEMPLATE)
        old = [pod for pod in gone if not template or label(pod, POD_TEMPLATE) != template]
        return bool((status.get("updatedNumberScheduled") or 0) >= _wanted(workload) - len(old))
    if workload["kind"] == "StatefulSet":
        return bool(status.get("updateRevision") == status.get("currentRevision"))
    return bool((status.get("updatedReplicas") or 0) >= _wanted(workload) == (status.get("replicas") or 0))


def _wanted(workload: Object) -> int:
    if workload["kind"] == "DaemonSet":
        return int((workload.get("status") or {}).get("desiredNumberScheduled") or 0)
    replicas = (workload.get("spec") or {}).get("completions" if workload["kind"] == "Job" else "replicas")
    return 1 if replicas is None else int(replicas)


def _ready(workload: Object) -> int:
    field = {"DaemonSet": "numberReady", "Job": "succeeded"}.get(workload["kind"], "readyReplicas")
    return int((workload.get("status") or {}).get(field) or 0)


def node_of(pod: Object) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def is_starting(pod: Object) -> bool:
    """Whether all containers of a pod run without a restart, and at least one has not passed its startup probe."""
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(each.get("started") is False for each in containers) and all(
        "running" in (each.get("state") or {}) and not each.get("restartCount") for each in containers
    )


def is_unschedulable(pod: Object) -> bool:
    return bool((find(pod, "PodScheduled") or {}).get("status") == "False")
