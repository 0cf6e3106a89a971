"""The state of the local cluster as data, for `stackwright status` and `doctor`. Read-only."""

from __future__ import annotations

import ssl
import urllib.request
from dataclasses import asdict, dataclass, field
from typing import Any

from stackwright.local import config
from stackwright.local.commands import LocalError, tail
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups, services, supervisor
from stackwright.local.kubernetes import api, dns_query
from stackwright.local.steps.context import homes, nodes_of


@dataclass(frozen=True)
class Component:
    """One program of the cluster."""

    name: str
    running: bool
    seconds: int
    """Seconds since it started or ended."""
    problem: str = ""
    log: str = ""
    """The end of its log, if there is a problem."""


@dataclass
class ClusterState:
    """`state` is one of absent (never created, or purged), stopped, starting, ready, broken."""

    state: str
    kubeconfig: str = ""
    components: list[Component] = field(default_factory=list)
    nodes: dict[str, str] = field(default_factory=dict)
    """Name → "Ready", or the reason why it is not."""
    virtual_machines: dict[str, int] = field(default_factory=dict)
    """Node → number of processes of virtual machines."""
    dns: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def problems(self) -> list[str]:
        found = [f"{c.name}: {c.problem}" for c in self.components if c.problem]
        found += [f"{name}: {said}" for name, said in self.nodes.items() if said != "Ready"]
        return found + ([f"dns: {self.dns}"] if self.dns not in ("", "Ready") else [])


def cluster_state(cluster: LocalCluster | None = None) -> ClusterState:
    cluster = cluster or LocalCluster.discover()
    if not (cluster.settings.exists() or homes(cluster)):
        return ClusterState("absent")
    if not supervisor.alive(cluster):
        crashed = services.names(cluster)  # `down` would have removed them
        return ClusterState("broken" if crashed else "stopped")
    found = ClusterState("ready", str(cluster.kubeconfig))
    found.virtual_machines = virtual_machines(cluster)
    found.components = [component(cluster, name) for name in expected(cluster)]
    if not any(c.name == "kube-apiserver" and c.problem for c in found.components):
        found.nodes = _nodes(cluster)
        answers = dns_query.resolves(f"kubernetes.default.svc.{config.CLUSTER_DOMAIN}", config.DNS_SERVICE)
        found.dns = "Ready" if answers else f"{config.DNS_SERVICE} does not respond"
    if found.problems():
        found.state = "starting" if all(c.seconds < 60 for c in found.components) else "broken"
    return found


def virtual_machines(cluster: LocalCluster) -> dict[str, int]:
    return {node.name: len(cgroups.processes(node.vm_cgroup)) for node in nodes_of(cluster)}


def expected(cluster: LocalCluster) -> list[str]:
    nodes = [
        f"{node.name}-{program}" for node in nodes_of(cluster) for program in ("containerd", "kubelet", "kube-proxy")
    ]
    uplink = [name for name in ("slirp4netns",) if name in services.names(cluster)]
    return [*uplink, "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", *nodes]


def component(cluster: LocalCluster, name: str) -> Component:
    status = services.status(cluster, name)
    problem = "" if status.up else "not running"
    if status.up and status.seconds < 5:
        problem = "" if (before := _health(cluster, name)) is None else f"started a moment ago; {before}"
    elif status.up:
        problem = _health(cluster, name) or ""
    end = tail(services.log_file(cluster, name)) if problem else ""
    return Component(name, status.up, status.seconds, problem, end)


def _health(cluster: LocalCluster, name: str) -> str | None:
    """None if its health check succeeds or it has none. Programs of nodes are judged by the state of their node."""
    if name == "kube-apiserver":
        return api.of(cluster).unready()
    ports = {
        "kube-controller-manager": config.CONTROLLER_MANAGER_PORT,
        "kube-scheduler": config.SCHEDULER_PORT,
    }
    return _healthz(cluster, ports[name]) if name in ports else None


def _healthz(cluster: LocalCluster, port: int) -> str | None:
    context = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
    try:
        with urllib.request.urlopen(f"https://127.0.0.1:{port}/healthz", timeout=3, context=context):
            return None
    except OSError as problem:
        return f"/healthz: {problem}"


def _nodes(cluster: LocalCluster) -> dict[str, str]:
    try:
        listed = api.of(cluster).get("/api/v1/nodes") or {}
    except LocalError as problem:
        return {"nodes": str(problem)}
    there = {node["metadata"]["name"]: node for node in listed.get("items", [])}
    names = [node.name for node in nodes_of(cluster)]
    return {name: api.node_unready(there.get(name)) or "Ready" for name in dict.fromkeys([*names, *there])}
