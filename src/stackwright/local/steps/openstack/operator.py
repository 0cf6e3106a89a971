"""Install the operator and its CustomResourceDefinitions from its chart, with local or published images."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from stackwright import assets
from stackwright.core.kubernetes.versions import OLDEST, OLDEST_TEXT, release
from stackwright.core.settings import OPERATOR_NAMESPACE, OPERATOR_RELEASE
from stackwright.local.commands import LocalError, Report
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import charts
from stackwright.local.waiting import wait_for

TITLE = "Operator"
LIMIT = 120.0
CRDS = "customresourcedefinitions"
OWNERS = (
    r'jsonpath={range .items[*]}{.metadata.name}{"\t"}{.metadata.labels.cluster\.x-k8s\.io/provider}'
    r'{"\t"}{.metadata.labels.app\.kubernetes\.io/managed-by}{"\t"}{.metadata.annotations.meta\.helm\.sh/release-name}'
    r'{"\t"}{.metadata.annotations.meta\.helm\.sh/release-namespace}{"\n"}{end}'
)
# Used in a dry run only, for which the API server calls the operator's webhook.
PROBE = {
    "apiVersion": "lcm.mirantis.com/v1alpha1",
    "kind": "HelmBundle",
    "metadata": {"name": "probe", "namespace": OPERATOR_NAMESPACE},
    "spec": {"releases": [{"name": "probe", "chart": "memcached"}]},
}


def chart() -> Path:
    return assets.require("charts/stackwright")


def values(ctx: Context) -> dict[str, Any]:
    references = ctx.references()
    images: dict[str, Any] = {"tags": {"stackwright": references["operator"]}, "references": references}
    if not ctx.kubeconfig:
        # containerd mounts the images of the prepared store by their ids (local/image/store.py), but no pod of a local
        # cluster has done so yet.
        images |= {"mount_volumes": False}
    return {"images": images}


def deployed(ctx: Context) -> bool:
    return charts.is_deployed(ctx, OPERATOR_RELEASE, OPERATOR_NAMESPACE, charts.digest(chart(), values(ctx)))


def unready(ctx: Context) -> str | None:
    """Reason why the operator is not ready. The pod's status may be outdated, so the webhook must reject PROBE."""
    try:
        charts.kubectl(ctx, "create", "--dry-run=server", "--filename", "-", stdin=json.dumps(PROBE))
    except LocalError as error:
        return None if "denied the request" in str(error) else str(error).splitlines()[-1]
    return None


def _check_version(ctx: Context) -> None:
    """Raises LocalError for a cluster that is too old."""
    found = json.loads(charts.kubectl(ctx, "get", "--raw", "/version"))["gitVersion"]
    if (known := release(found)) and known < OLDEST:
        raise LocalError(f"The cluster runs Kubernetes {found}; {OLDEST_TEXT} or later is required")


def take_over(ctx: Context) -> None:
    """Give the release the CustomResourceDefinitions that earlier versions installed beside it.

    Those of another release, program or provider of Cluster API are not changed; Helm then names them in its error.
    """
    names = sorted(path.stem for path in (chart() / "files/crds").glob("*.yaml"))
    found = charts.kubectl(ctx, "get", CRDS, *names, "--ignore-not-found", "--output", OWNERS)
    ours = [name for name, *owner in (line.split("\t") for line in found.splitlines()) if _is_free(*owner)]
    if ours:
        place = {"meta.helm.sh/release-name": OPERATOR_RELEASE, "meta.helm.sh/release-namespace": OPERATOR_NAMESPACE}
        charts.kubectl(ctx, "annotate", CRDS, *ours, "--overwrite", *(f"{key}={text}" for key, text in place.items()))
        charts.kubectl(ctx, "label", CRDS, *ours, "--overwrite", "app.kubernetes.io/managed-by=Helm")


def _is_free(provider: str, managed_by: str, release: str, namespace: str) -> bool:
    """Whether no other release owns the object; true also if a killed `up` wrote only a part of our ownership."""
    owner = (managed_by, release, namespace)
    whole = ("Helm", OPERATOR_RELEASE, OPERATOR_NAMESPACE)
    return not provider and owner != whole and all(got in ("", ours) for got, ours in zip(owner, whole, strict=True))


def done(ctx: Context) -> bool:
    return deployed(ctx) and unready(ctx) is None


def run(ctx: Context, report: Report) -> None:
    if not deployed(ctx):
        if ctx.kubeconfig:
            _check_version(ctx)
        report("the CustomResourceDefinitions")
        take_over(ctx)
        report("waiting for the pod of the operator")
        charts.install(ctx, OPERATOR_RELEASE, OPERATOR_NAMESPACE, chart(), values(ctx))
    wait_for("the admission webhook of the operator", partial(unready, ctx), limit=LIMIT, report=report)
