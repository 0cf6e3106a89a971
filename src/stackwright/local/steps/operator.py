"""The kinds and the operator, from its chart, with the images that were just built or that are published."""

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


def chart() -> Path:
    return assets.require("charts/stackwright")


def values(ctx: Context) -> dict[str, Any]:
    references = ctx.references()
    return {"images": {"tags": {"stackwright": references["operator"]}, "references": references}}


def done(ctx: Context) -> bool:
    return charts.is_deployed(ctx, RELEASE, NAMESPACE, charts.digest(chart(), values(ctx)))


def run(ctx: Context, report: Report) -> None:
    # Helm installs the CRDs of a chart once and never again; a newer operator may bring newer kinds.
    report("the CustomResourceDefinitions")
    charts.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--filename", str(chart() / "crds"))
    charts.kubectl(ctx, "wait", "--for=condition=Established", "--timeout=30s", "--filename", str(chart() / "crds"))
    report("waiting for the operator's pod")
    charts.install(ctx, RELEASE, NAMESPACE, chart(), values(ctx))
