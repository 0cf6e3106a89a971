"""Installs a Helm release for a step of `up` by `helm upgrade --install`, unless nothing has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stackwright.adapters.helm.command import chart_digest
from stackwright.core.digest import digest as core_digest
from stackwright.local import tools
from stackwright.local.commands import run as execute
from stackwright.local.steps.context import Context


def digest(chart: Path, values: dict[str, Any]) -> str:
    return core_digest(chart_digest(chart), values)


def is_deployed(ctx: Context, release: str, namespace: str, wanted: str) -> bool:
    """Whether the release is deployed with this digest of chart and values, which is stored as its description."""
    command = ["list", "--namespace", namespace, "--filter", f"^{release}$", "--output", "json"]
    found = json.loads(helm(ctx, *command) or "[]")
    if not found or found[0]["status"] != "deployed":
        return False
    status = json.loads(helm(ctx, "status", release, "--namespace", namespace, "--output", "json"))
    return bool(status["info"].get("description") == wanted)


def install(
    ctx: Context, release: str, namespace: str, chart: Path, values: dict[str, Any], *, wait: bool = True
) -> None:
    _forget_interrupted(ctx, release, namespace)
    place = ["--namespace", namespace, "--create-namespace"]
    command = ["upgrade", "--install", release, str(chart), *place]
    command += ["--wait", "--timeout", "5m"] if wait else []
    command += ["--description", digest(chart, values), "--values", "-", "--history-max", "5"]
    helm(ctx, *command, stdin=json.dumps(values), limit=330)


def _forget_interrupted(ctx: Context, release: str, namespace: str) -> None:
    """Delete the record of a killed `helm`, which would block the next one. The next one adopts existing objects."""
    command = ["list", "--all", "--namespace", namespace, "--filter", f"^{release}$", "--output", "json"]
    for found in json.loads(helm(ctx, *command) or "[]"):
        if found["status"].startswith("pending") or found["status"] == "uninstalling":
            record = f"sh.helm.release.v1.{release}.v{found['revision']}"
            kubectl(ctx, "delete", "secret", record, "--namespace", namespace)


def helm(ctx: Context, *words: str, stdin: str | None = None, limit: float = 60) -> str:
    program = tools.binary("helm", ctx.cluster)
    env = {"KUBECONFIG": str(ctx.kubeconfig_in_use), "HELM_CACHE_HOME": str(ctx.cluster.cache / "helm")}
    return execute([program, *words], stdin=stdin, limit=limit, env=env)


def kubectl(ctx: Context, *words: str, stdin: str | None = None, limit: float = 60) -> str:
    program = tools.binary("kubectl", ctx.cluster)
    return execute([program, "--kubeconfig", ctx.kubeconfig_in_use, *words], stdin=stdin, limit=limit)
