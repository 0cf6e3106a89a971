"""Findings about pods and objects of any cluster. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stackwright.core.conditions import find, is_blocked
from stackwright.core.findings import Finding
from stackwright.core.kubernetes.workload_health import causes, pod_failure


def of_pods(pods: Sequence[dict[str, Any]]) -> list[Finding]:
    """Findings about pods that do not run, in any cluster."""
    found = []
    for pod in pods:
        if failure := pod_failure(pod):
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            remedy = f"kubectl -n {pod['metadata']['namespace']} describe pod {pod['metadata']['name']}"
            found.append(Finding(name, "problem", failure.text, remedy))
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
