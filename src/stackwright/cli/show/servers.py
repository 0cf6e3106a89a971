"""`stackwright servers`: clusters with bastions and machines, servers with their resources, and causes of waits."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import common
from stackwright.cli.cluster import completion
from stackwright.cli.cluster.options import KubeconfigOption
from stackwright.cli.ui.output import Format, FormatOption

if TYPE_CHECKING:
    from stackwright.cli.ui.tree import Node


def servers(
    name: Annotated[
        str | None, typer.Argument(help="A cluster or a server; default: all.", autocompletion=completion.servers)
    ] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the servers; default: all.")] = "",
    output: FormatOption = Format.TABLE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Show the servers created in OpenStacks: cluster → bastion, machines → ports, volumes, addresses.

    ✓ ready, … in progress, ✗ blocked until a user acts, as the text says.

    For example:

      stackwright servers

      stackwright servers web -n demo

      stackwright servers -o json
    """
    from stackwright.cli.failures import run
    from stackwright.cli.ui.output import show
    from stackwright.cli.ui.tree import lines

    def text() -> str:
        shown = [line for node in found for line in (*lines(node, colour=common.coloured()), "")]
        return "\n".join(shown[:-1]) if shown else "No servers found; examples/server.yaml creates one"

    found = run(_trees(name, namespace, kubeconfig))
    show(output, [node.as_dict() for node in found], text)


async def _trees(name: str | None, namespace: str, kubeconfig: Any) -> list[Node]:
    from stackwright.api.infra.cluster.cluster import OpenStackCluster
    from stackwright.api.infra.machine import OpenStackMachine
    from stackwright.api.infra.server import OpenStackServer
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import CliError
    from stackwright.cli.ui.servers_tree import trees
    from stackwright.controllers.infra.clusterapi import cluster_name

    async with connected(kubeconfig) as cluster:
        kinds = (OpenStackCluster.KIND, OpenStackMachine.KIND, OpenStackServer.KIND)
        clusters, machines, every = await asyncio.gather(*(cluster.list(kind, namespace) for kind in kinds))
    found = trees(time.time(), clusters, machines, every)
    if name is not None:
        names = {name, *(each["metadata"]["name"] for each in clusters if cluster_name(each) == name)}
        found = [node for node in found if node.title.rpartition("/")[2] in names]
        if not found:
            raise CliError(f"No cluster and no server {name} found")
    return found
