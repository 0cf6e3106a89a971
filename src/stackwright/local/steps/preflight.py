"""Check that this machine can run the cluster, before any change; all problems are reported together, with remedies."""

from __future__ import annotations

from stackwright.local.commands import LocalError, Report
from stackwright.local.host import machine
from stackwright.local.steps.context import Context

TITLE = "Check this machine"


def done(ctx: Context) -> bool:
    return not machine.problems(ctx.cluster)


def run(ctx: Context, report: Report) -> None:
    found = machine.problems(ctx.cluster)
    if found:
        lines = "\n".join(f"  ✗ {problem}" for problem in found)
        raise LocalError(f"This machine cannot run a local cluster yet:\n{lines}")
