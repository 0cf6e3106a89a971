"""The operator itself, from its chart, with the image that was just built and the references of all the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackwright import assets
from stackwright.local.commands import Report
from stackwright.local.steps import charts
from stackwright.local.steps.context import Context

TITLE = "Operator"
RELEASE = "stackwright"
NAMESPACE = "stackwright"


def chart() -> Path | None:
    return assets.find("charts/stackwright")


def values(ctx: Context) -> dict[str, Any]:
    return {"images": {"tags": {"stackwright": ctx.image("operator")}, "references": ctx.references()}}


def done(ctx: Context) -> bool:
    place = chart()
    return place is None or charts.is_deployed(ctx, RELEASE, NAMESPACE, charts.digest(place, values(ctx)))


def run(ctx: Context, report: Report) -> None:
    place = chart()
    assert place is not None, "otherwise it is done"
    charts.install(ctx, RELEASE, NAMESPACE, place, values(ctx))
