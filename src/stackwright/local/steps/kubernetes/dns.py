"""DNS inside the cluster: CoreDNS as a Deployment, at the Service address that every kubelet configures in its pods."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import Any

from stackwright.local import config
from stackwright.local.commands import Report
from stackwright.local.host import machine
from stackwright.local.kubernetes import coredns, dns_query
from stackwright.local.kubernetes.api import deployment_unready
from stackwright.local.steps.context import Context
from stackwright.local.waiting import wait_for

TITLE = "Cluster DNS"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
DIGEST = "stackwright.dev/digest"


def wanted(ctx: Context) -> list[tuple[str, coredns.Manifest]]:
    image = ctx.image("coredns")
    assert image, "the images step makes sure of it"
    objects = coredns.manifests(image, min(ctx.node_count, 2), upstream=_has_upstream())
    # The digest on the Deployment, which is applied last, covers all objects; the one on the pods replaces them when
    # their configuration changes.
    text = hashlib.sha256(json.dumps(objects).encode()).hexdigest()[:16]
    deployment = objects[-1][1]
    deployment["metadata"]["annotations"] = {DIGEST: text}
    deployment["spec"]["template"]["metadata"]["annotations"] = {DIGEST: _config_digest(objects)}
    return objects


def _config_digest(objects: list[tuple[str, coredns.Manifest]]) -> str:
    corefile = next(o for _, o in objects if o["kind"] == "ConfigMap")
    return hashlib.sha256(json.dumps(corefile).encode()).hexdigest()[:16]


def _has_upstream() -> bool:
    lines = machine.resolv_conf().read_text(errors="replace").splitlines()
    servers = [words[1] for words in map(str.split, lines) if len(words) > 1 and words[0] == "nameserver"]
    return any(not server.startswith("127.") and server != "::1" for server in servers)


def unready(ctx: Context) -> str | None:
    """Reason why CoreDNS is not ready. The Deployment's status may be outdated, so a DNS query is sent, too."""
    if missing := deployment_unready(ctx.api.get(DEPLOYMENT)):
        return missing
    name = f"kubernetes.default.svc.{config.CLUSTER_DOMAIN}"
    return None if dns_query.resolves(name, config.DNS_SERVICE) else f"{config.DNS_SERVICE} does not respond"


def done(ctx: Context) -> bool:
    there: dict[str, Any] | None = ctx.api.get(DEPLOYMENT)
    if there is None or unready(ctx) is not None:
        return False
    last = wanted(ctx)[-1][1]["metadata"]["annotations"][DIGEST]
    return bool(there["metadata"].get("annotations", {}).get(DIGEST) == last)


def run(ctx: Context, report: Report) -> None:
    for path, manifest in wanted(ctx):
        ctx.api.apply(path, manifest)
    wait_for("CoreDNS", partial(unready, ctx), limit=120, report=report)
