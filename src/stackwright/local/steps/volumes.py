"""Volumes of pods: directories below the cluster's data, handed out by a small provisioner of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackwright import assets
from stackwright.local.commands import Report
from stackwright.local.steps import charts
from stackwright.local.steps.context import Context

TITLE = "Local volumes"
RELEASE = "local-volume-provisioner"
NAMESPACE = "kube-system"


def chart() -> Path | None:
    return assets.find("charts/local-volume-provisioner")


def values(ctx: Context) -> dict[str, Any]:
    return {
        "images": {"tags": {"stackwright": ctx.image("operator")}},
        # Below `state`, so that `down` keeps volumes and `down --purge` removes them.
        "volumes": {"path": str(ctx.cluster.state / "volumes")},
    }


def done(ctx: Context) -> bool:
    place = chart()
    return place is None or charts.is_deployed(ctx, RELEASE, NAMESPACE, charts.digest(place, values(ctx)))


def run(ctx: Context, report: Report) -> None:
    place = chart()
    assert place is not None, "otherwise it is done"
    (ctx.cluster.state / "volumes").mkdir(parents=True, exist_ok=True)
    charts.install(ctx, RELEASE, NAMESPACE, place, values(ctx))
