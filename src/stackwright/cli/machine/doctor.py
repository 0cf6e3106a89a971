"""`stackwright doctor`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.cluster import KubeconfigOption

if TYPE_CHECKING:
    from stackwright.local.cluster.doctor import Finding


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


MARKS = {"ok": "✓", "note": "•", "problem": "✗"}


def doctor(
    output: Annotated[Format, typer.Option("--output", "-o", help="Output format.")] = Format.TEXT,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Find faults of this machine and of the cluster, with remedies.

    With --kubeconfig or --context: examine that cluster, but not its machines. Exit code 1 if
    it finds a problem.

    For example:

      stackwright doctor

      stackwright doctor -o json

      stackwright doctor --kubeconfig ~/.kube/config

    """
    from stackwright.cli.cluster import run
    from stackwright.local.cluster.doctor import examine
    from stackwright.local.config import LocalCluster

    elsewhere = kubeconfig is not None or common.given.context is not None
    findings = run(_elsewhere(kubeconfig)) if elsewhere else [*_variable(), *examine(LocalCluster.discover())]
    if output is Format.JSON:
        import json

        common.data(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for one in findings:
            common.echo(f" {MARKS[one.level]} {one.subject}: {one.text}")
            if one.remedy:
                common.echo(f"      → {one.remedy}")
            for line in one.log.splitlines():
                common.echo(f"      | {line[:240]}")
    if any(finding.level == "problem" for finding in findings):
        raise typer.Exit(1)


def _variable() -> list[Finding]:
    """A bad $KUBECONFIG: all other commands fail with it, while this one examines the local cluster."""
    from stackwright.cli.cluster import CliError, named
    from stackwright.local.cluster.doctor import Finding

    try:
        named()
    except CliError as error:
        return [Finding("kubeconfig", "problem", str(error), "Set $KUBECONFIG to an existing file, or unset it.")]
    return []


async def _elsewhere(kubeconfig: Path | None) -> list[Finding]:
    """Findings about pods and objects of any cluster."""
    from stackwright.api.kinds import POD
    from stackwright.cli.cluster import connected
    from stackwright.cloud.registry import RESOURCES
    from stackwright.core.ports import NotServed
    from stackwright.local.cluster.doctor import Finding, of_objects, of_pods

    objects = []
    async with connected(kubeconfig) as cluster:
        pods = await cluster.list(POD)
        for kind in (resource.KIND for resource in RESOURCES):
            try:
                objects += [{**obj, "kind": kind.kind} for obj in await cluster.list(kind)]
            except NotServed:
                text = "Stackwright is not installed on this cluster."
                return [
                    *of_pods(pods),
                    Finding("operator", "note", text, "`stackwright up --kubeconfig` installs it."),
                ]
    return [*of_pods(pods), *of_objects(objects)]
