"""`stackwright history`: the revisions of a cloud's spec, or of its Helm releases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from stackwright.cli.cluster import completion
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.ui.output import Format, FormatOption

FEW = 3  # changed fields in a row


def history(
    release: Annotated[
        str | None,
        typer.Argument(help="A release, such as openstack-keystone; default: all.", autocompletion=completion.releases),
    ] = None,
    cloud: Annotated[
        str | None,
        typer.Option(
            "--cloud",
            metavar="NAME",
            help="Show the revisions of this cloud's spec instead.",
            autocompletion=completion.clouds,
        ),
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    output: FormatOption = Format.TABLE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Show the stored revisions of Helm releases, the newest last, with state and time.

    With --cloud: show the revisions of a cloud's spec with their changed fields; `stackwright rollback` restores one.

    For example:

      stackwright history

      stackwright history openstack-keystone -o json

      stackwright history --cloud cloud
    """
    from stackwright.api.kinds import SECRET
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import CliError, run
    from stackwright.core.conditions import stamp
    from stackwright.core.helm.records import SELECTOR, revisions
    from stackwright.core.ports import Release

    async def work() -> list[Release]:
        async with connected(kubeconfig) as cluster:
            every = revisions(await cluster.list(SECRET, namespace, SELECTOR))
        found = [each for each in every if release in (None, each.name)]
        if not found:
            known = ", ".join(sorted({each.name for each in every})) or "none"
            what = f"release {release}" if release else "Helm release"
            raise CliError(f"No {what} found in namespace {namespace}; found: {known}")
        return found

    if cloud is not None:
        if release is not None:
            raise typer.BadParameter("a release and --cloud exclude each other", param_hint="--cloud")
        _print(("revision", "made", "changed"), run(_of_cloud(cloud, namespace, kubeconfig)), output)
        return
    rows = [(each.name, each.revision, each.state, stamp(each.updated)) for each in run(work())]
    _print(("release", "revision", "state", "updated"), rows, output)


async def _of_cloud(name: str, namespace: str, kubeconfig: Path | None) -> list[tuple[Any, ...]]:
    """(number, time, paths of the changed fields) of each stored revision, the oldest first."""
    from stackwright.cli.cluster.connection import connected, the_cloud
    from stackwright.cli.failures import CliError
    from stackwright.cli.state.revisions import kept, spec_of
    from stackwright.cloud.registry import CLOUD_KINDS
    from stackwright.core.diff import changes

    async with connected(kubeconfig) as cluster:
        found = await the_cloud(cluster, namespace, name, CLOUD_KINDS)
        if found is None:
            raise CliError(f"No cloud found in namespace {namespace}")
        revisions = await kept(cluster, found)
        specs = [await spec_of(cluster, each) for each in revisions]
    rows: list[tuple[Any, ...]] = []
    for number, (each, spec) in enumerate(zip(revisions, specs, strict=True)):
        changed = [change.dotted for change in changes(specs[number - 1], spec, ("spec",))] if number else []
        rows.append((each.number, each.made, changed))
    return rows


def _print(columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]], output: Format) -> None:
    from stackwright.cli.ui.output import show, table

    data = [dict(zip(columns, row, strict=True)) for row in rows]
    cells = (tuple(map(_cell, row)) for row in rows)
    show(output, data, lambda: table([tuple(map(str.upper, columns)), *cells]))


def _cell(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return ", ".join(value[:FEW]) + (f" and {len(value) - FEW} more" if len(value) > FEW else "")
