"""`stackwright down`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.confirm import YesOption

if TYPE_CHECKING:
    from stackwright.local.home import Folder


def down(
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete the cluster's data, too. This cannot be undone.")
    ] = False,
    cache: Annotated[bool, typer.Option("--cache", help="With --purge: delete built tools and images, too.")] = False,
    yes: YesOption = False,
) -> None:
    """Stop the cluster and clean up the machine; keep the data.

    No process, mount, network namespace, link, route, cgroup, or firewall rule of the cluster remains; `stackwright up`
    starts it again with its data. --purge asks for confirmation, unless --yes is given. A
    folder that does not belong to a local cluster is never deleted.

    For example:

      stackwright down

      stackwright down --purge

    """
    from stackwright.cli.failures import exit_on_local_error
    from stackwright.cli.ui.progress import progress
    from stackwright.local.cluster import teardown
    from stackwright.local.config import LocalCluster
    from stackwright.local.lock import exclusive

    if cache and not purge:
        raise typer.BadParameter("requires --purge", param_hint="--cache")
    cluster = LocalCluster.discover()
    with exit_on_local_error("Run `stackwright down` again to continue."), exclusive(cluster):
        if not yes:
            _ask(teardown.folders(cluster, purge=purge, cache=cache).values())
        kept = teardown.down(cluster, progress(), purge=purge, cache=cache)
    if kept:
        common.echo(f"Kept, because it does not belong to the local cluster: {', '.join(map(str, kept))}")


def _ask(folders: Iterable[Folder]) -> None:
    """Asks for confirmation before the deletion. Raises LocalError if refused."""
    from stackwright.cli.confirm import confirm
    from stackwright.cli.failures import CliError
    from stackwright.local.commands import LocalError

    for each in folders:
        each.check()
    try:
        confirm([f"{each.what}, in {each.path}" for each in folders if each.entries()], "Nothing was deleted.")
    except CliError as error:
        raise LocalError(str(error)) from None
