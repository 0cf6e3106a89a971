"""The example cloud: applied once, then waited for. A cloud that exists is left as its owner made it."""

from __future__ import annotations

from pathlib import Path

from stackwright import assets
from stackwright.local.commands import Report
from stackwright.local.steps import charts
from stackwright.local.steps.context import Context

TITLE = "Cloud"


def manifest() -> Path | None:
    return assets.find("examples/cloud.yaml")


def done(ctx: Context) -> bool:
    return not ctx.cloud or manifest() is None


def run(ctx: Context, report: Report) -> None:
    path = manifest()
    assert path is not None, "otherwise it is done"
    charts.kubectl(ctx, "apply", "--server-side", "--filename", str(path))
