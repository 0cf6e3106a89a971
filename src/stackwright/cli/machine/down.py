"""`stackwright down`."""

from __future__ import annotations

from typing import Annotated

import typer

from stackwright.cli.change.confirm import YesOption


def down(
    purge: Annotated[bool, typer.Option("--purge", help="Delete the cluster's data too. It cannot be undone.")] = False,
    cache: Annotated[bool, typer.Option("--cache", help="With --purge: also what was built (tools, images).")] = False,
    yes: YesOption = False,
) -> None:
    """Stop everything and clean up the machine; data is kept.

    No process, mount, network namespace, link, route, cgroup, or firewall rule of the cluster remains; `stackwright up`
    starts it again with its data. Before --purge deletes the data you are asked; --yes is the answer in scripts.

    For example:

      stackwright down

      stackwright down --purge

    """
    from stackwright.cli.change.confirm import confirm
    from stackwright.cli.cluster import CliError, fail
    from stackwright.cli.ui.errors import explained
    from stackwright.cli.ui.progress import progress
    from stackwright.local import teardown
    from stackwright.local.config import LocalCluster
    from stackwright.local.lock import exclusive

    if cache and not purge:
        raise typer.BadParameter("only together with --purge", param_hint="--cache")
    cluster = LocalCluster.discover()
    if purge and not yes and cluster.kubeconfig.exists():
        try:
            confirm([f"the local cluster with all its data, in {cluster.state}"], "Nothing was deleted.")
        except CliError as error:
            fail(str(error))
    with explained("Call `stackwright down` again to go on."), exclusive(cluster):
        teardown.down(cluster, progress(), purge=purge, cache=cache)
