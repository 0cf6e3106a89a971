"""Nodes: start kubelet and proxy of each, and remove nodes that are no longer wanted."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from stackwright.local.commands import Report
from stackwright.local.config import Node
from stackwright.local.host import services
from stackwright.local.host.machine import profile
from stackwright.local.host.services import Service
from stackwright.local.kubernetes import flags
from stackwright.local.kubernetes.api import node_unready
from stackwright.local.node import config as node_config
from stackwright.local.node import removal
from stackwright.local.steps.context import Context, remember
from stackwright.local.steps.kubernetes import runtimes
from stackwright.local.steps.kubernetes.leaving import held, refuse_voters
from stackwright.local.waiting import wait_for

TITLE = "Nodes"


def wanted(ctx: Context, node: Node) -> list[Service]:
    pki, configs = ctx.cluster.pki, files(ctx, node)
    kubelet, proxy = flags.kubelet(pki, node), flags.kube_proxy(node.proxy_config)
    return [
        runtimes.service(ctx.cluster, node, kubelet, configs[node.kubelet_config]),
        runtimes.service(ctx.cluster, node, proxy, configs[node.proxy_config]),
    ]


def files(ctx: Context, node: Node) -> dict[Path, str]:
    pki = ctx.cluster.pki
    return {
        node.kubelet_config: node_config.kubelet(pki, node, profile()),
        node.proxy_config: node_config.kube_proxy(pki, node),
    }


def done(ctx: Context) -> bool:
    current = all(_is_current(ctx, node) and unready(ctx, node) is None for node in ctx.nodes)
    return current and not ctx.surplus


def _is_current(ctx: Context, node: Node) -> bool:
    same = all(path.exists() and path.read_text() == text for path, text in files(ctx, node).items())
    return same and all(services.is_current(ctx.cluster, one) for one in wanted(ctx, node))


def run(ctx: Context, report: Report) -> None:
    if leaving := ctx.surplus:
        refuse_voters(ctx, held(ctx))
        remember(ctx)
    for node in ctx.nodes:
        node.kubelet_root.mkdir(parents=True, exist_ok=True)
        node.pod_logs.mkdir(parents=True, exist_ok=True)
        runtimes.write(files(ctx, node))
        services.ensure(ctx.cluster, *wanted(ctx, node))
    for node in leaving:
        report(f"{node.name} leaves")
        ctx.api.delete(f"/api/v1/nodes/{node.name}")
        removal.remove_node(ctx.cluster, node)
    for node in ctx.nodes:
        log = services.log_file(ctx.cluster, f"{node.name}-kubelet")
        wait_for(node.name, partial(unready, ctx, node), limit=120, log=log, report=report)
        ctx.api.apply(f"/api/v1/nodes/{node.name}", labels(node))


def labels(node: Node) -> dict[str, object]:
    role = "node-role.kubernetes.io/control-plane" if node.index == 1 else "node-role.kubernetes.io/worker"
    names = {**node_config.labels(node), role: ""}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": names}}


def unready(ctx: Context, node: Node) -> str | None:
    """Reason why a node is not ready. Ignores conditions from before the kubelet's start, which the API server keeps.

    A condition with a time in the future is older than a change of the clock, so the kubelet may have started since.
    It reports again within a minute.
    """
    started = services.status(ctx.cluster, f"{node.name}-kubelet").since
    return node_unready(ctx.api.get(f"/api/v1/nodes/{node.name}"), since=started - 1, until=time.time() + 1)
