"""Build the cluster's programs from pinned Go modules: takes minutes the first time, then they are cached."""

from __future__ import annotations

from stackwright.local import tools
from stackwright.local.commands import Report
from stackwright.local.steps.context import Context

TITLE = "Build tools"


def done(ctx: Context) -> bool:
    return not tools.missing(ctx.cluster)


def run(ctx: Context, report: Report) -> None:
    tools.build_all(ctx.cluster, report)
