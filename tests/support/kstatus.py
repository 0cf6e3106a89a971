"""The status that kstatus computes for an object: `status.Compute` in sigs.k8s.io/cli-utils for custom kinds.

tests/functional/rotating/test_gitops.py compares it with the library.
"""

from __future__ import annotations

from typing import Any


def kstatus(obj: dict[str, Any]) -> str:
    meta, status = obj["metadata"], obj.get("status") or {}
    if meta.get("deletionTimestamp"):
        return "Terminating"
    if "generation" in meta and status.get("observedGeneration", meta["generation"]) != meta["generation"]:
        return "InProgress"
    conditions = status.get("conditions") or ()
    for entry in conditions:
        if entry["status"] == "True" and entry["type"] in ("Reconciling", "Stalled"):
            return "InProgress" if entry["type"] == "Reconciling" else "Failed"
    ready = next((entry["status"] for entry in conditions if entry["type"] == "Ready"), "True")
    return "Current" if ready == "True" else "InProgress"


def argocd(obj: dict[str, Any]) -> str:
    """The result of the health script, except for deleted objects, for which Argo CD does not run it."""
    ready = next((e for e in (obj.get("status") or {}).get("conditions") or () if e["type"] == "Ready"), None)
    said = kstatus(obj)
    if said == "Failed" and ready and ready["reason"] in ("Paused", "Draft"):
        return "Suspended"
    return {"InProgress": "Progressing", "Failed": "Degraded", "Current": "Healthy"}[said]
