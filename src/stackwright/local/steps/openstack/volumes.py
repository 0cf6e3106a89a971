"""Volumes for pods: directories on the node, created by our own provisioner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackwright import assets
from stackwright.local.commands import Report
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import charts

TITLE = "Local volumes"
RELEASE = "local-volume-provisioner"
NAMESPACE = "kube-system"


def chart() -> Path:
    return assets.require("charts/local-volume-provisioner")


def values(ctx: Context) -> dict[str, Any]:
    return {
        "images": {"tags": {"stackwright": ctx.references()["operator"]}},
        "volumes": {"path": str(ctx.cluster.state / "volumes")},
        "storage_class": {"default": True},
    }


def done(ctx: Context) -> bool:
    return charts.is_deployed(ctx, RELEASE, NAMESPACE, charts.digest(chart(), values(ctx)))


def run(ctx: Context, report: Report) -> None:
    # Without a wait: claims wait for the provisioner, and the operator can start meanwhile.
    charts.install(ctx, RELEASE, NAMESPACE, chart(), values(ctx), wait=False)
