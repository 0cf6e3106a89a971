"""Wait for the API server, then start its clients: controller manager and scheduler."""

from __future__ import annotations

from stackwright.local.commands import Report
from stackwright.local.config import LocalCluster
from stackwright.local.host import services
from stackwright.local.host.services import Service
from stackwright.local.kubernetes import flags
from stackwright.local.steps.context import Context
from stackwright.local.steps.kubernetes import control_plane
from stackwright.local.waiting import wait_for

TITLE = "Control plane"


def wanted(cluster: LocalCluster) -> list[Service]:
    builders = (flags.controller_manager, flags.scheduler)
    return [control_plane.service(cluster, build(cluster.pki)) for build in builders]


def done(ctx: Context) -> bool:
    ready = all(services.is_current(ctx.cluster, one) for one in wanted(ctx.cluster))
    return ready and ctx.api.unready() is None


def run(ctx: Context, report: Report) -> None:
    log = services.log_file(ctx.cluster, "kube-apiserver")
    wait_for("the apiserver", ctx.api.unready, limit=120, log=log, report=report)
    services.ensure(ctx.cluster, *wanted(ctx.cluster))
