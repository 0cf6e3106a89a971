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
    from stackwright.local.doctor import Finding


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


MARKS = {"ok": "✓", "note": "•", "problem": "✗"}


def doctor(
    output: Annotated[Format, typer.Option("--output", "-o", help="How to print.")] = Format.TEXT,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Explain what is wrong on this machine and in the cluster.

    With --kubeconfig or --context: what is wrong in that cluster, whose machines are not examined. Exit code 1 when
    there is a problem.

    For example:

      stackwright doctor

      stackwright doctor -o json

      stackwright doctor --kubeconfig ~/.kube/config

    """
    from stackwright.cli.cluster import run
    from stackwright.local.config import LocalCluster
    from stackwright.local.doctor import examine

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
    """With which no other command goes on, though this one looks at the local cluster."""
    from stackwright.cli.cluster import CliError, named
    from stackwright.local.doctor import Finding

    try:
        named()
    except CliError as error:
        return [Finding("kubeconfig", "problem", str(error), "Set $KUBECONFIG to a file that is there, or unset it.")]
    return []


async def _elsewhere(kubeconfig: Path | None) -> list[Finding]:
    """Findings about pods and objects of any cluster."""
    from stackwright.api.kinds import POD
    from stackwright.cli.cluster import connected
    from stackwright.cloud.registry import RESOURCES
    from stackwright.core.ports import NotServed
    from stackwright.local.doctor import Finding, of_objects, of_pods

    objects = []
    async with connected(kubeconfig) as cluster:
        pods = await cluster.list(POD)
        for kind in (resource.KIND for resource in RESOURCES):
            try:
                objects += [{**obj, "kind": kind.kind} for obj in await cluster.list(kind)]
            except NotServed:
                text = "Stackwright is not installed here."
                return [
                    *of_pods(pods),
                    Finding("operator", "note", text, "`stackwright up --kubeconfig` does it."),
                ]
    return [*of_pods(pods), *of_objects(objects)]
