"""What the cluster stands on: the kernel's settings, the bridges, the nodes' namespaces, and the supervisor."""

from __future__ import annotations

import shutil

from stackwright.local import cgroups, config, kernel, mounts, network, power, supervisor
from stackwright.local.commands import Report
from stackwright.local.steps.context import Context, remember, remembered_nodes

TITLE = "Network and supervisor"


def done(ctx: Context) -> bool:
    return (
        remembered_nodes(ctx.cluster) == ctx.node_count
        and supervisor.alive(ctx.cluster)
        and not kernel.wanting()
        and network.bridges_are_up()
        and network.is_guarded()
        and all(power.is_on(node) and network.is_attached(node) for node in ctx.nodes)
    )


def run(ctx: Context, report: Report) -> None:
    if not cgroups.processes():
        # Nothing lives: what a machine that lost its power left here (services, sockets, tasks) is of no use.
        cgroups.kill(config.VM_CGROUP)
        mounts.unmount(mounts.below(ctx.cluster.run))
        shutil.rmtree(ctx.cluster.run, ignore_errors=True)
    ctx.cluster.run.mkdir(parents=True, exist_ok=True)
    (ctx.cluster.run / "home").write_text(str(ctx.cluster.state))
    remember(ctx)
    network.ensure_bridges(router=kernel.was_router(ctx.cluster))  # the guards come before what they guard
    kernel.ensure(ctx.cluster)
    for node in ctx.nodes:
        if not power.is_on(node):
            report(f"{node.name} starts")
            power.cut(ctx.cluster, node)
            power.boot(ctx.cluster, node)
        power.connect(node, ctx.nodes)
    supervisor.start(ctx.cluster)
