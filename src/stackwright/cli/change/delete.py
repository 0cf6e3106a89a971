"""`stackwright delete`: deletes a cloud, after a list of everything that is deleted with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli.cluster import completion
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.common import TimeoutOption, say
from stackwright.cli.confirm import YesOption

if TYPE_CHECKING:
    from stackwright.core.plan import Object
    from stackwright.core.ports import Cluster

MACHINES = "access to its virtual machines, which keep running; delete servers first: a new cloud rejects their nodes"


def delete(
    name: Annotated[str, typer.Argument(help="The cloud.", autocompletion=completion.clouds)],
    namespace: NamespaceOption = NAMESPACE,
    wait: Annotated[bool, typer.Option(help="Wait until the cloud is deleted.")] = True,
    timeout: TimeoutOption = 600,
    yes: YesOption = False,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Delete a cloud: an OpenStackDeployment or OpenStackControlPlane, with its services and their data.

    The command asks for confirmation; without a terminal it fails, unless --yes is given. A protected cloud is kept.

    For example:

      stackwright delete cloud

      stackwright delete cloud --yes --no-wait
    """
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.confirm import confirm
    from stackwright.cli.failures import run
    from stackwright.cli.follow import Goal, Patience, follow

    async def work() -> None:
        async with connected(kubeconfig) as cluster:
            cloud = await _found(cluster, namespace, name)
            if not yes:
                what = f"{cloud['kind']} {namespace}/{name} with its services and their data"
                confirm([what, MACHINES], "Nothing was deleted.")
            await _delete(cluster, cloud)
            say(f"{cloud['kind']} {namespace}/{name}: deletion requested")
            if wait:
                await follow(cluster, namespace, name, Patience(Goal.DELETED, timeout))

    run(work())


async def _found(cluster: Cluster, namespace: str, name: str) -> Object:
    from stackwright.cli.cluster.connection import the_cloud
    from stackwright.cli.failures import CliError
    from stackwright.cloud.registry import CLOUD_KINDS

    cloud = await the_cloud(cluster, namespace, name, CLOUD_KINDS)
    if cloud is None:
        raise CliError(f"No cloud found in namespace {namespace}; `kubectl delete` deletes other objects")
    return cloud


async def _delete(cluster: Cluster, cloud: Object) -> None:
    """Deletes that object, but no object created under its name since it was listed."""
    from stackwright.cli.failures import CliError
    from stackwright.cloud.registry import kind_of
    from stackwright.core.errors import Conflict
    from stackwright.core.objects import key_of

    try:
        await cluster.delete(kind_of(cloud["kind"]), key_of(cloud), cloud["metadata"]["uid"])
    except Conflict:
        raise CliError("The cloud was replaced by another one of the same name. Nothing was deleted.") from None
