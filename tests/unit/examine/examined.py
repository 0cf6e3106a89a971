"""A cluster in memory that `stackwright doctor` can examine, and on which it finds no problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.api.kinds import NODE, SERVICE, STORAGE_CLASS
from stackwright.api.meta import Kind
from stackwright.core.errors import TerminalError
from stackwright.forecast.impact import DEFAULT_CLASS
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.registry import SERVICES

INFO = {"architecture": "amd64", "kubeletVersion": "v1.35.0", "containerRuntimeVersion": "containerd://2.1.4"}
LABELS = {key: value for service in SERVICES for key, value in service.node_labels} | {"kubernetes.io/os": "linux"}


def node(name: str = "node1", **changes: Any) -> dict[str, Any]:
    """A Ready node with all labels.

    changes  labels, spec, info (of the status), allocatable, ready
    """
    return {
        "metadata": {"name": name, "labels": changes.get("labels", LABELS)},
        "spec": changes.get("spec", {}),
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if changes.get("ready", True) else "False"}],
            "nodeInfo": {**INFO, **changes.get("info", {})},
            "allocatable": changes.get("allocatable", {"cpu": "8", "memory": "32Gi"}),
        },
    }


def storage_class(name: str = "fast", mode: str = "WaitForFirstConsumer", *, default: bool = True) -> dict[str, Any]:
    notes = {"annotations": {DEFAULT_CLASS: "true"}} if default else {}
    return {"metadata": {"name": name, **notes}, "volumeBindingMode": mode}


def dns() -> dict[str, Any]:
    return {"metadata": {"namespace": "kube-system", "name": "kube-dns", "labels": {"k8s-app": "kube-dns"}}}


class ExaminedCluster(MemoryCluster):
    """allowed  verbs on resources that the user has, such as `get secrets` or `bind roles/NAME`; None: all
    refused  the error of a pod with image volumes; empty: none
    """

    allowed: frozenset[str] | None = None
    refused = ""

    async def version(self) -> str:
        return "v1.35.2"

    async def is_allowed(self, attributes: Mapping[str, str]) -> bool:
        parts = [attributes[name] for name in ("resource", "subresource", "name") if name in attributes]
        return self.allowed is None or f"{attributes['verb']} {'/'.join(parts)}" in self.allowed

    async def dry_run(self, kind: Kind, obj: Any, manager: str) -> None:
        if self.refused:
            raise TerminalError(self.refused)


def fit(cluster: ExaminedCluster | None = None) -> ExaminedCluster:
    cluster = cluster or ExaminedCluster()
    cluster.put(NODE, node())
    cluster.put(STORAGE_CLASS, storage_class())
    cluster.put(SERVICE, dns())
    return cluster
