"""(workloads, pods) → status.health. Pure."""

from __future__ import annotations

from typing import Any

from stackwright.controllers.health.observe import Observed
from stackwright.core.kubernetes.workload_health import pods_of, why, workload_ready
from stackwright.core.objects import generation, is_deleting, label
from stackwright.core.plan import Object, Plan


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()
    health: dict[str, dict[str, Any]] = {}
    for workload in seen.workloads:
        application = label(workload, "application")
        component = label(workload, "component") or workload["metadata"]["name"]
        found, known = _component(seen, workload), health.setdefault(application, {})
        # A component may have several workloads, for example DaemonSets for single nodes: report the unhealthy one.
        if known.get(component, {}).get("status") != "Unhealthy":
            known[component] = found
    components = [entry for application in health.values() for entry in application.values()]
    ready = sum(1 for entry in components if entry["status"] == "Ready")
    return Plan(status={"health": health, "healthSummary": f"{ready}/{len(components)}"})


def _component(seen: Observed, workload: Object) -> dict[str, Any]:
    if workload_ready(workload):
        return {"status": "Ready", "generation": generation(workload), "message": ""}
    cause = why(workload, pods_of(workload, seen.pods))
    return {"status": "Unhealthy", "generation": generation(workload), "message": cause}
