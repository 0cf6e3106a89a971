"""`stackwright doctor`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


MARKS = {"ok": "✓", "note": "•", "problem": "✗"}


def doctor(
    output: Annotated[Format, typer.Option("--output", "-o", help="How to print.")] = Format.TEXT,
) -> None:
    """Explain what is wrong on this machine and in the cluster.

    Exit code 1 when there is a problem.

    For example:

      stackwright doctor

      stackwright doctor -o json

    """
    from stackwright.local.config import LocalCluster
    from stackwright.local.doctor import examine

    findings = examine(LocalCluster.discover())
    if output is Format.JSON:
        import json

        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for one in findings:
            typer.echo(f" {MARKS[one.level]} {one.subject}: {one.text}")
            if one.remedy:
                typer.echo(f"      → {one.remedy}")
            for line in one.log.splitlines():
                typer.echo(f"      | {line[:240]}")
    if any(finding.level == "problem" for finding in findings):
        raise typer.Exit(1)
