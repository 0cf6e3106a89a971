"""Apply the cloud of a file, or the example if the cluster has no cloud, and wait for all clouds to be ready."""

from __future__ import annotations

import json
import time
from typing import Any

from stackwright import assets
from stackwright.core.conditions import find, is_blocked, is_ready
from stackwright.core.settings import OPERATOR_NAMESPACE
from stackwright.local import evidence
from stackwright.local.commands import LocalError, Report
from stackwright.local.host import cgroups
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import charts
from stackwright.local.waiting import wait_for

TITLE = "Cloud"
LIMIT = 900.0
BLOCKED_LIMIT = 150.0  # a failed release is retried after a minute
WEBHOOK_LIMIT = 120.0
KINDS = "openstackdeployments.lcm.mirantis.com,openstackcontrolplanes.core.openstack.org"


def skipped(ctx: Context) -> str | None:
    return None if ctx.cloud else "--no-cloud was given"


def clouds(ctx: Context) -> list[dict[str, Any]]:
    """All clouds in the cluster, of both kinds."""
    return _items(ctx, KINDS, "--all-namespaces")


def _items(ctx: Context, *words: str) -> list[dict[str, Any]]:
    return list(json.loads(charts.kubectl(ctx, "get", *words, "--output", "json"))["items"])


def unready_cause(cloud: dict[str, Any]) -> str | None:
    """None if a cloud is ready with its current spec, otherwise the message of its condition."""
    if is_ready(cloud):
        return None
    condition = find(cloud)
    return str(condition["message"] or condition["reason"]) if condition else "the operator has not processed it yet"


def _missing(ctx: Context, found: list[dict[str, Any]]) -> list[str]:
    """Reasons why clouds are not ready. An outdated status is not valid (evidence.py)."""
    if missing := [text for cloud in found if (text := unready_cause(cloud))]:
        return missing
    doubt = _doubt(ctx, found)
    return [doubt] if doubt else []


def _doubt(ctx: Context, found: list[dict[str, Any]]) -> str | None:
    operator = [pod for pod in _items(ctx, "pods", "--namespace", OPERATOR_NAMESPACE) if evidence.metrics_ports(pod)]
    if not operator:
        return "the operator is not running"
    places = sorted({cloud["metadata"]["namespace"] for cloud in found})
    ours = [pod for place in places for pod in _items(ctx, "pods", "--namespace", place, "--selector", "application")]
    alive = {} if ctx.kubeconfig else {node.name: cgroups.names(node.cgroup) for node in ctx.nodes}
    for pod in (*operator, *ours):
        if doubt := evidence.pod_doubt(pod, alive):
            return doubt
    kinds = {cloud["kind"] for cloud in found} | {"HelmBundle"}
    try:
        return evidence.operator_doubt(
            [_metrics(ctx, pod, p) for pod in operator for p in evidence.metrics_ports(pod)], kinds
        )
    except LocalError as error:
        return f"the operator's metrics: {error}"


def _metrics(ctx: Context, pod: dict[str, Any], port: int) -> str:
    place, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    return charts.kubectl(ctx, "get", "--raw", f"/api/v1/namespaces/{place}/pods/{name}:{port}/proxy/metrics")


def blocked(cloud: dict[str, Any]) -> bool:
    """Whether a cloud needs an action of the user."""
    return is_blocked(find(cloud))


def done(ctx: Context) -> bool:
    if ctx.manifest and not ctx.applied:
        return False
    found = clouds(ctx)
    return bool(found) and not _missing(ctx, found)


def run(ctx: Context, report: Report) -> None:
    if ctx.manifest or not clouds(ctx):
        _apply(ctx, report)
        ctx.applied = True
    start = sound = time.monotonic()
    while missing := _missing(ctx, found := clouds(ctx)):
        report("; ".join(missing))
        # A cloud stays blocked until the user acts; just after a change, the condition may be about the previous spec.
        sound = sound if any(blocked(cloud) for cloud in found) else time.monotonic()
        if time.monotonic() - sound > BLOCKED_LIMIT:
            raise LocalError(f"The cloud is blocked until you act: {'; '.join(missing)}")
        if time.monotonic() - start > LIMIT:
            raise LocalError(
                f"The cloud was not ready after {LIMIT:.0f} s: {'; '.join(missing)}. "
                "`stackwright status` shows the causes."
            )
        time.sleep(0.5)


def _apply(ctx: Context, report: Report) -> None:
    """Check and apply the manifest. Retries until the webhook responds: after a reboot, the operator's pod is ready too
    early.
    """
    file = ctx.manifest or assets.require("examples/cloud.yaml")
    text = ""

    def unchecked() -> str | None:
        nonlocal text
        try:
            text = text or ctx.applicable(file)  # what the user confirmed; asks once
            charts.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--filename", "-", stdin=text)
        except LocalError as error:
            if "failed calling webhook" not in str(error):
                raise
            return str(error).splitlines()[-1]
        return None

    wait_for("the admission webhook of the operator", unchecked, limit=WEBHOOK_LIMIT, report=report)
