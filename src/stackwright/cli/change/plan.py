"""`stackwright plan`: the actions that the operator would execute, computed by its controllers on a copy in memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, OnlyNamespaceOption
from stackwright.cli.ui.output import Format, FormatOption

if TYPE_CHECKING:
    from stackwright.cli.manifests.load import Manifest
    from stackwright.forecast.entries import Entry
    from stackwright.forecast.simulate import Cause

EXIT_CHANGES = 2


def plan(
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", metavar="FILE", help="Manifests to plan; - for standard input. May be repeated."),
    ] = None,
    namespace: OnlyNamespaceOption = None,
    delete: Annotated[
        str | None, typer.Option("--delete", metavar="NAME", help="Plan the deletion of this cloud.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show all values, also those of new objects.")] = False,
    output: FormatOption = Format.TABLE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Show what a manifest would change, without changing anything.

    Without a file: show the pending work of the operator. The plan assumes that each step succeeds, and that the
    operator has this program's version, with its charts and images.

    Exit code 0: no changes; 2: changes; 1: failure or wrong usage.

    For example:

      stackwright plan -f cloud.yaml

      stackwright plan --delete cloud
    """
    from stackwright.cli.failures import fail, run
    from stackwright.cli.manifests.load import BadManifest, load_all
    from stackwright.cli.ui.output import show
    from stackwright.cli.ui.steps import lines
    from stackwright.forecast.entries import summary

    try:
        manifests = load_all(file or [], namespace)
        found, stuck = run(_work(manifests, namespace or NAMESPACE, delete, kubeconfig))
    except BadManifest as error:
        fail(f"{error}\nNothing was changed.")
    data = {
        "changes": [entry.as_dict() for entry in found],
        "stuck": {name: str(cause) for name, cause in stuck.items()},
    }
    show(
        output,
        data,
        lambda: "\n".join(_text(found, stuck, lines(found, full=full, colour=common.coloured()))),
    )
    if summary(found):
        raise typer.Exit(EXIT_CHANGES)


def _text(found: list[Entry], stuck: dict[str, Cause], lines: list[str]) -> list[str]:
    from stackwright.core.kubernetes.workload_health import causes
    from stackwright.forecast.entries import summary

    text = [*lines, "", summary(found)] if lines else ["No changes."]
    if stuck:
        by_message = {cause.message: cause for cause in stuck.values()}
        shared = causes({name: cause.message for name, cause in stuck.items()})
        text += [
            "",
            "These objects would not become ready:",
            *(common.safe(f"  {names}: {by_message[message]}") for names, message in sorted(shared.items())),
        ]
    return text


async def _work(
    manifests: list[Manifest], namespace: str, delete: str | None, kubeconfig: Path | None
) -> tuple[list[Entry], dict[str, Cause]]:
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.foresee import foresee
    from stackwright.cli.manifests.checks import check_reads
    from stackwright.cli.manifests.namespaces import ordered

    async with connected(kubeconfig) as cluster:
        await check_reads(cluster, manifests)
        tell = partial(common.echo, err=True)
        return await foresee(cluster, await ordered(cluster, manifests), namespace, delete, tell=tell)
