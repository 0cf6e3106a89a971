"""Prerequisites on the machine: kernel settings, router, namespaces of the nodes, supervisor, access to the outside."""

from __future__ import annotations

import shutil
from pathlib import Path

from stackwright.local import config
from stackwright.local.commands import Report
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups, kernel, mounts, network, services, supervisor
from stackwright.local.host.services import Service
from stackwright.local.kubernetes import flags
from stackwright.local.node import power
from stackwright.local.steps.context import Context, is_remembered, remember
from stackwright.local.steps.kubernetes import control_plane

TITLE = "Network and supervisor"
TUN = Path("/dev/net/tun")


def uplink(cluster: LocalCluster) -> list[Service]:
    """The program for outgoing traffic, restarted with its namespace; empty if it cannot run (`doctor` reports it)."""
    if not TUN.exists():
        return []
    namespace = network.NAMESPACE
    return [control_plane.service(cluster, flags.uplink(namespace), "slirp4netns", str(namespace.stat().st_ino))]


def done(ctx: Context) -> bool:
    return (
        (bool(ctx.surplus) or is_remembered(ctx))
        and supervisor.alive(ctx.cluster)
        and not kernel.too_small()
        and network.is_ready()
        and all(services.is_current(ctx.cluster, one) for one in uplink(ctx.cluster))
        and all(power.is_on(node) and network.is_attached(node) for node in ctx.nodes)
    )


def run(ctx: Context, report: Report) -> None:
    if not cgroups.processes():
        # No process is left: services, sockets and tasks in `run`, as after a power failure, are stale.
        cgroups.kill(config.VM_CGROUP)
        mounts.unmount(mounts.below(ctx.cluster.run))
        shutil.rmtree(ctx.cluster.run, ignore_errors=True)
    ctx.cluster.run.mkdir(parents=True, exist_ok=True)
    (ctx.cluster.run / "home").write_text(str(ctx.cluster.state))
    if not ctx.surplus:  # they may have to stay; the next steps decide
        remember(ctx)
    network.ensure()
    kernel.ensure(ctx.cluster)
    for node in ctx.nodes:
        if not power.is_on(node):
            report(f"{node.name} starts")
            power.cut(ctx.cluster, node)
            power.boot(ctx.cluster, node)
        power.connect(node, ctx.nodes)
    supervisor.start(ctx.cluster)
    services.ensure(ctx.cluster, *uplink(ctx.cluster))
