"""`stackwright history`: the revisions of a cloud's Helm releases."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from stackwright.cli import completion
from stackwright.cli.cluster import NAMESPACE, KubeconfigOption, NamespaceOption
from stackwright.cli.output import Format, FormatOption


def history(
    release: Annotated[
        str | None,
        typer.Argument(
            help="A release, e.g. openstack-keystone; all if not given.", autocompletion=completion.releases
        ),
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    output: FormatOption = Format.TABLE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Show the revisions of Helm releases that are kept, the newest last, with their state and time.

    For example:

      stackwright history

      stackwright history openstack-keystone -o json
    """
    from stackwright.api.kinds import SECRET
    from stackwright.cli.cluster import CliError, connected, run
    from stackwright.cli.output import dumped, table
    from stackwright.core.helmrecords import SELECTOR, revisions
    from stackwright.core.ports import Release

    async def work() -> list[Release]:
        async with connected(kubeconfig) as cluster:
            every = revisions(await cluster.list(SECRET, namespace, SELECTOR))
        found = [each for each in every if release in (None, each.name)]
        if not found:
            known = ", ".join(sorted({each.name for each in every})) or "none"
            what = f"release {release}" if release else "Helm release"
            raise CliError(f"There is no {what} in namespace {namespace}; there is: {known}")
        return found

    rows = [
        (each.name, each.revision, each.state, datetime.fromtimestamp(each.updated, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        for each in run(work())
    ]
    if output is Format.TABLE:
        typer.echo(table([("RELEASE", "REVISION", "STATE", "UPDATED"), *(tuple(map(str, row)) for row in rows)]))
        return
    keys = ("release", "revision", "state", "updated")
    typer.echo(dumped([dict(zip(keys, row, strict=True)) for row in rows], output))
