"""Findings about pods and objects of any cluster. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stackwright.core.conditions import find, is_blocked
from stackwright.core.findings import Finding
from stackwright.core.kubernetes.workload_health import causes


def of_pods(pods: Sequence[dict[str, Any]]) -> list[Finding]:
    """Findings about the pods of any cluster."""
    found = []
    for pod in pods:
        if complaint := pod_complaint(pod):
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            remedy = f"kubectl -n {pod['metadata']['namespace']} describe pod {pod['metadata']['name']}"
            found.append(Finding(name, "problem", complaint, remedy))
    return found or [Finding("pods", "ok", f"{len(pods)} pods without problems")]


def of_objects(objects: Sequence[dict[str, Any]]) -> list[Finding]:
    """Findings about objects of our kinds that need an action, without those that repeat another object's cause."""
    messages = {}
    for obj in objects:
        ready = find(obj) or {}
        if is_blocked(ready):
            meta = obj["metadata"]
            name = "/".join(part for part in (meta.get("namespace"), meta["name"]) if part)
            messages[f"{obj['kind']} {name}"] = str(ready.get("message") or ready["reason"])
    remedy = "`stackwright status` shows the state of all parts, `stackwright plan` the pending changes."
    return [Finding(name, "problem", message, remedy) for name, message in causes(messages).items()]


def pod_complaint(pod: dict[str, Any]) -> str:
    """Reason why a pod does not run; empty if it runs or has completed."""
    status = pod.get("status", {})
    if status.get("phase") == "Succeeded":
        return ""
    for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        state = container.get("state", {})
        waiting = state.get("waiting", {})
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return f"{container['name']}: {waiting['reason']} {waiting.get('message', '')}".strip()
        if (ended := state.get("terminated", {})).get("exitCode", 0) != 0:
            return f"{container['name']} terminated with exit code {ended['exitCode']}"
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] != "True":
            return f"not scheduled: {condition.get('message', '')}"
    return ""
