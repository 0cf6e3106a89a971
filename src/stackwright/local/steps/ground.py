"""What the cluster stands on: the bridge, the nodes' network namespaces, and the supervisor."""

from __future__ import annotations

import shutil

from stackwright.local import cgroups, mounts, network, supervisor
from stackwright.local.commands import Report
from stackwright.local.steps.context import Context, remember, remembered_nodes

TITLE = "Network and supervisor"


def done(ctx: Context) -> bool:
    return (
        remembered_nodes(ctx.cluster) == ctx.node_count
        and supervisor.alive(ctx.cluster)
        and network.bridge_is_up()
        and all(network.is_connected(node) for node in ctx.nodes)
    )


def run(ctx: Context, report: Report) -> None:
    if not cgroups.processes():
        # Nothing lives: what a machine that lost its power left here (services, sockets, tasks) is of no use.
        mounts.unmount(mounts.below(ctx.cluster.run))
        shutil.rmtree(ctx.cluster.run, ignore_errors=True)
    ctx.cluster.run.mkdir(parents=True, exist_ok=True)
    (ctx.cluster.run / "home").write_text(str(ctx.cluster.state))
    remember(ctx)
    network.ensure_bridge(ctx.cluster)
    for node in ctx.nodes:
        network.ensure_node(node, ctx.nodes)
    supervisor.start(ctx.cluster)
