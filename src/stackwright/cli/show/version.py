"""`stackwright version`: the versions of this program, of the operator in the cluster, and of its clouds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from stackwright.cli import common
from stackwright.cli.cluster.options import KubeconfigOption
from stackwright.cli.ui.output import Format, FormatOption
from stackwright.core.settings import OPERATOR_NAMESPACE

VERSION_LABEL = "app.kubernetes.io/version"


def version(output: FormatOption = Format.TABLE, kubeconfig: KubeconfigOption = None) -> None:
    """Print the versions of the program, of the operator, and of the clouds.

    Without a cluster, print the program's own version and why the others are not known.

    For example:

      stackwright version

      stackwright version -o json
    """
    from importlib.metadata import version as of

    from stackwright.cli.ui.output import show

    versions = {"program": of("stackwright"), **asyncio.run(_cluster(kubeconfig))}
    show(output, versions, lambda: _table(versions))
    if output is Format.TABLE and versions["problem"]:
        common.echo(versions["problem"], err=True)


def _table(versions: dict[str, Any]) -> str:
    from stackwright.cli.ui.output import table

    rows = [("program", versions["program"])]
    if versions["operator"]:
        rows.append(("operator", f"{versions['operator']['version']} ({versions['operator']['image']})"))
    rows += [(f"{each['kind']} {each['namespace']}/{each['name']}", each["version"]) for each in versions["clouds"]]
    return table(rows)


async def _cluster(kubeconfig: Path | None) -> dict[str, Any]:
    """The operator {version, image} or None; clouds; problem: the reason why they are unknown."""
    from stackwright.api.kinds import DEPLOYMENT
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import CliError
    from stackwright.cloud.registry import CLOUD_KINDS
    from stackwright.core.errors import Conflict, TerminalError, TransientError
    from stackwright.core.objects import label

    unknown: dict[str, Any] = {"operator": None, "clouds": [], "problem": ""}
    try:
        async with connected(kubeconfig) as cluster:
            deployments, *lists = await asyncio.gather(
                cluster.list(DEPLOYMENT, OPERATOR_NAMESPACE, {"application": "stackwright", "component": "operator"}),
                *(cluster.list(resource.KIND) for resource in CLOUD_KINDS),
            )
    except (CliError, TransientError, TerminalError, Conflict) as error:
        return {**unknown, "problem": str(error)}
    clouds = [
        {
            "kind": resource.KIND.kind,
            "namespace": obj["metadata"]["namespace"],
            "name": obj["metadata"]["name"],
            "version": str((obj.get("status") or {}).get("version") or "unknown"),
        }
        for resource, found in zip(CLOUD_KINDS, lists, strict=True)
        for obj in found
    ]
    if not deployments:
        return {**unknown, "clouds": clouds, "problem": f"No operator runs in namespace {OPERATOR_NAMESPACE}"}
    image = str(deployments[0]["spec"]["template"]["spec"]["containers"][0]["image"])
    operator = {"version": label(deployments[0], VERSION_LABEL) or "unknown", "image": image}
    return {"operator": operator, "clouds": clouds, "problem": ""}
