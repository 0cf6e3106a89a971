"""Diagnosis of the machine, the cluster, pods that do not run, and objects that are stuck. Read-only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stackwright.cloud.registry import RESOURCES
from stackwright.core.conditions import find, is_blocked
from stackwright.core.findings import Finding
from stackwright.core.kubernetes.workload_health import causes
from stackwright.local import tools
from stackwright.local.cluster.leftovers import leftovers
from stackwright.local.cluster.state import ClusterState, cluster_state
from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.host import machine
from stackwright.local.kubernetes import api
from stackwright.local.steps import packages
from stackwright.local.steps.context import remembered_nodes


def examine(cluster: LocalCluster) -> list[Finding]:
    found = [*_machine(cluster), *_unknown(cluster)]
    state = cluster_state(cluster)
    found += _cluster(cluster, state)
    if state.state in ("ready", "broken", "starting") and state.nodes:
        found += _pods(cluster)
        found += _stuck(cluster)
    return found


def _machine(cluster: LocalCluster) -> list[Finding]:
    problems = [Finding("machine", "problem", p.what, p.remedy) for p in machine.problems(cluster)]
    if missing := packages.missing():
        text = f"Not installed: {', '.join(missing)}."
        problems.append(Finding("machine", "note", text, "`stackwright up` installs them."))
    if unbuilt := tools.missing(cluster):
        names = ", ".join(tool.module for tool in unbuilt)
        problems.append(Finding("tools", "note", f"Not built: {names}.", "`stackwright up` builds them."))
    for device, use in (
        ("/dev/kvm", "virtual machines are emulated, which is slow"),
        ("/dev/net/tun", "virtual machines do not start, and pods have no external network"),
    ):
        if not Path(device).exists():
            problems.append(
                Finding("machine", "note", f"No {device}: {use}.", "Enable it on the host of this machine.")
            )
    return problems or [Finding("machine", "ok", "No problems found.")]


def _unknown(cluster: LocalCluster) -> list[Finding]:
    try:
        remembered_nodes(cluster)
    except LocalError as problem:
        return [Finding("nodes", "problem", str(problem))]
    return []


def _cluster(cluster: LocalCluster, state: ClusterState) -> list[Finding]:
    if state.state == "absent":
        return [Finding("cluster", "note", "No local cluster exists.", "`stackwright up` creates it.")]
    if state.state == "stopped":
        left = leftovers(cluster)
        if left:
            text = f"The cluster is stopped, but parts of it remain on the machine:\n{left}"
            return [Finding("cluster", "problem", text, "`stackwright down` cleans up.")]
        return [Finding("cluster", "note", "The cluster is stopped; its data is kept.", "`stackwright up` starts it.")]
    if not state.components:
        return [
            Finding(
                "cluster", "problem", "The supervisor of the cluster is not running.", "`stackwright up` resumes it."
            )
        ]
    found = []
    for one in state.components:
        ago = f"for {_duration(one.seconds)}"
        if one.problem:
            found.append(Finding(one.name, "problem", f"{one.problem} ({ago})", "`stackwright up`", one.log))
        else:
            found.append(Finding(one.name, "ok", f"running {ago}"))
    found += [
        Finding(name, "ok", f"{n} processes of virtual machines") for name, n in state.virtual_machines.items() if n
    ]
    for name, said in {**state.nodes, "dns": state.dns}.items():
        if said:
            found.append(Finding(name, "ok" if said == "Ready" else "problem", said))
    return found


def _pods(cluster: LocalCluster) -> list[Finding]:
    try:
        listed = api.of(cluster).get("/api/v1/pods") or {}
    except LocalError as problem:
        return [Finding("pods", "problem", str(problem))]
    return of_pods(listed.get("items", []))


def of_pods(pods: Sequence[dict[str, Any]]) -> list[Finding]:
    """Findings about the pods of any cluster."""
    found = []
    for pod in pods:
        if complaint := pod_complaint(pod):
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            remedy = f"kubectl -n {pod['metadata']['namespace']} describe pod {pod['metadata']['name']}"
            found.append(Finding(name, "problem", complaint, remedy))
    return found or [Finding("pods", "ok", f"{len(pods)} pods without problems")]


def _stuck(cluster: LocalCluster) -> list[Finding]:
    client, objects = api.of(cluster), []
    for kind in (resource.KIND for resource in RESOURCES):
        try:
            listed = client.get(f"/apis/{kind.group}/{kind.version}/{kind.plural}") or {}
        except LocalError as problem:
            return [Finding("objects", "problem", str(problem))]
        objects += [{**obj, "kind": kind.kind} for obj in listed.get("items", [])]
    return of_objects(objects)


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


def _duration(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
