"""Diagnosis of the machine, the cluster, pods that do not run, and objects that are stuck. Read-only."""

from __future__ import annotations

from pathlib import Path

from stackwright.cloud.registry import RESOURCES
from stackwright.core.findings import Finding
from stackwright.core.kubernetes.diagnosis import of_objects, of_pods
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


def _stuck(cluster: LocalCluster) -> list[Finding]:
    client, objects = api.of(cluster), []
    for kind in (resource.KIND for resource in RESOURCES):
        try:
            listed = client.get(f"/apis/{kind.group}/{kind.version}/{kind.plural}") or {}
        except LocalError as problem:
            return [Finding("objects", "problem", str(problem))]
        objects += [{**obj, "kind": kind.kind} for obj in listed.get("items", [])]
    return of_objects(objects)


def _duration(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
