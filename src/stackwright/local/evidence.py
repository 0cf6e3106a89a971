"""Checks that a status is newer than the start of the nodes and of the operator, and so can be trusted.

The API server keeps each status over a restart of the machine. Pods that ended with the machine are listed as ready
until their kubelet reports, and a cloud as Ready until the operator has reconciled it. So a status is valid only if
each container of the cloud and of the operator has processes on its node and its pod is ready, and if this operator
process has reconciled the cloud and the releases and has an empty queue. Pure: objects and metrics in, messages out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

CONTROLLERS = {"OpenStackDeployment": "cloud", "OpenStackControlPlane": "controlplane", "HelmBundle": "helmbundle"}
"""Kind → name of its controller in the operator's metrics."""
OBSERVED = ("changed", "unchanged")
"""Outcomes of a reconcile after which the status is that of the observed state; a conflict or an error may leave the
status of an earlier process."""
RECONCILES, QUEUE = "stackwright_reconciles_total", "stackwright_queue_depth"

Object = Mapping[str, Any]


def pod_doubt(pod: Object, alive: Mapping[str, Collection[str]]) -> str | None:
    """None if the pod is ready and its containers have run since the start of its node, or if it need not run.

    alive  node → ids of the containers that have processes; other nodes are not on this machine
    """
    meta, status = pod["metadata"], pod.get("status") or {}
    owners = {owner["kind"] for owner in meta.get("ownerReferences") or ()}
    if "Job" in owners or status.get("phase") in ("Succeeded", "Failed") or meta.get("deletionTimestamp"):
        return None
    name = f"Pod {meta['namespace']}/{meta['name']}"
    living = alive.get(pod["spec"].get("nodeName", ""))
    for container in status.get("containerStatuses") or ():
        running = "running" in (container.get("state") or {})
        if running and living is not None and container.get("containerID", "").rpartition("/")[2] not in living:
            return f"{name} has not started since the start of its node"
    ready = next((c for c in status.get("conditions") or () if c["type"] == "Ready"), None)
    return None if ready and ready["status"] == "True" else f"{name} is not ready"


def metrics_ports(pod: Object) -> list[int]:
    """Metrics ports of an operator's pod, one per process."""
    ports = (port for container in pod["spec"]["containers"] for port in container.get("ports") or ())
    return [port["containerPort"] for port in ports if str(port.get("name", "")).startswith("metrics")]


def operator_doubt(metrics: Iterable[str], kinds: Iterable[str]) -> str | None:
    """None if, by their metrics, the operator's processes have reconciled these kinds and their queues are empty."""
    looked: set[str] = set()
    waiting = 0.0
    for line in (line for text in metrics for line in text.splitlines() if line and not line.startswith("#")):
        series, _, value = line.rpartition(" ")
        name, _, labels = series.partition("{")
        if name == RECONCILES:
            if any(f'outcome="{outcome}"' in labels for outcome in OBSERVED):
                looked |= {kind for kind in kinds if f'kind="{CONTROLLERS[kind]}"' in labels}
        elif name == QUEUE:
            waiting += float(value)
    if missing := sorted(set(kinds) - looked):
        return f"the operator has not processed any {missing[0]} since its start"
    return f"the operator has {waiting:.0f} objects in its queue" if waiting else None
