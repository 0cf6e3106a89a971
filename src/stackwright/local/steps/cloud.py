"""The cloud: that of a file, else the example if there is none; then waited for. Its owner's is left as it is."""

from __future__ import annotations

import json
import time
from typing import Any

from stackwright import assets
from stackwright.core.conditions import find, is_ready
from stackwright.local.commands import LocalError, Report
from stackwright.local.steps import charts
from stackwright.local.steps.context import Context
from stackwright.local.waiting import wait_for

TITLE = "Cloud"
LIMIT = 900.0
BLOCKED_LIMIT = 150.0  # a release that failed is tried again after a minute
WEBHOOK_LIMIT = 120.0


def clouds(ctx: Context) -> list[dict[str, Any]]:
    """All OpenStackDeployments of the cluster; none before the operator brought the kind."""
    found = charts.kubectl(ctx, "get", "openstackdeployments", "--all-namespaces", "--output", "json")
    return list(json.loads(found)["items"])


def trouble(cloud: dict[str, Any]) -> str | None:
    """None when a cloud is ready for its present spec, else what it waits for."""
    if is_ready(cloud):
        return None
    condition = find(cloud)
    return str(condition["message"] or condition["reason"]) if condition else "the operator has not looked at it yet"


def _missing(found: list[dict[str, Any]]) -> list[str]:
    return [text for cloud in found if (text := trouble(cloud))]


def blocked(cloud: dict[str, Any]) -> bool:
    """Whether a cloud waits for a human."""
    return str((find(cloud) or {}).get("reason", "")).startswith("Blocked")


def done(ctx: Context) -> bool:
    if not ctx.cloud:
        return True
    if ctx.manifest and not ctx.applied:
        return False
    found = clouds(ctx)
    return bool(found) and all(trouble(cloud) is None for cloud in found)


def run(ctx: Context, report: Report) -> None:
    ctx.cloud_is_new = True
    if ctx.manifest or not clouds(ctx):
        _apply(ctx, report)
        ctx.applied = True
    start = sound = time.monotonic()
    while missing := _missing(found := clouds(ctx)):
        report("; ".join(missing))
        # What is blocked stays so until somebody acts; only right after a change it may be about what was before.
        sound = sound if any(blocked(cloud) for cloud in found) else time.monotonic()
        if time.monotonic() - sound > BLOCKED_LIMIT:
            raise LocalError(f"The cloud needs you: {'; '.join(missing)}")
        if time.monotonic() - start > LIMIT:
            raise LocalError(
                f"The cloud was not ready after {LIMIT:.0f} s: {'; '.join(missing)}. See `stackwright status`."
            )
        time.sleep(0.5)


def _apply(ctx: Context, report: Report) -> None:
    """After a reboot the operator's pod is known as ready before it is: the API cannot ask its webhook for a while."""
    file = ctx.manifest or assets.require("examples/cloud.yaml")
    ctx.before_apply(file)
    manifest = str(file)

    def unchecked() -> str | None:
        try:
            charts.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--filename", manifest)
        except LocalError as error:
            if "failed calling webhook" not in str(error):
                raise
            return str(error).splitlines()[-1]
        return None

    wait_for("the operator, which checks what is applied", unchecked, limit=WEBHOOK_LIMIT, report=report)
