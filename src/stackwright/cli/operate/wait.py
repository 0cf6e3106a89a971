"""`stackwright wait`: waits until a cloud or another object is ready or deleted, and prints the causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common, object_names
from stackwright.cli.cluster import completion
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.common import TimeoutOption, no_output
from stackwright.cli.follow import Goal, Patience, first, follow
from stackwright.cli.ui.output import Data

if TYPE_CHECKING:
    from stackwright.cli.object_names import Kinds
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader


def wait(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|KIND/NAME]",
            help="A cloud, one of its services, or an object as KIND/NAME; default: the first cloud by name.",
            autocompletion=completion.clouds,
        ),
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    goal: Annotated[Goal, typer.Option("--for", help="State to wait for.")] = Goal.READY,
    timeout: TimeoutOption = 600,
    keep_waiting: Annotated[
        bool, typer.Option("--keep-waiting", help="Keep waiting while the object is blocked until a user acts.")
    ] = False,
    output: Annotated[
        Data | None, typer.Option("--output", "-o", help="Format of the output; prints the object at the end.")
    ] = None,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Wait until a cloud or another object is ready, and print what it waits for.

    Kinds are written as in kubectl: openstackserver/web, keystone/keystone, hb/openstack-nova.

    Exit code 0 if it is ready; 1 with the causes after the timeout, or earlier if a user must act.

    For example:

      stackwright wait

      stackwright wait cloud --for=deleted --timeout 120

      stackwright wait openstackserver/web -n demo

      stackwright wait -o json
    """
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import run

    async def work() -> None:
        kinds, asked_name = object_names.parse(name, "wait for")
        patience = Patience(goal, timeout, keep_waiting)
        async with connected(kubeconfig) as cluster:
            if name and "/" not in name:
                kinds, asked_name = await _named(cluster, namespace, name, goal)
            if output is None:
                await follow(cluster, namespace, asked_name, patience, kinds=kinds)
                return
            try:
                await follow(cluster, namespace, asked_name, patience, no_output, kinds)
            finally:
                await _print(await first(cluster, namespace, asked_name, kinds, goal), output)

    run(work())


async def _named(reader: Reader, namespace: str, name: str, goal: Goal) -> tuple[Kinds, str]:
    """Kind and name of a cloud or service; one that is absent is deleted."""
    from stackwright.cloud.registry import BY_KIND, CLOUD_KINDS

    try:
        kind, obj = await object_names.found(reader, namespace, name, "wait for")
    except object_names.NotFound:
        if goal is Goal.READY:
            raise
        return CLOUD_KINDS, name
    return (BY_KIND[kind.kind],), obj["metadata"]["name"]


async def _print(obj: Object | None, output: Data) -> None:
    """Prints the object in the format of `status`; null if it does not exist."""
    from stackwright.cli.ui.output import dumped
    from stackwright.cli.ui.resource_tree import described

    common.data(dumped(None if obj is None else described(obj), output))
