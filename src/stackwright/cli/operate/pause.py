"""`stackwright pause`: the operator changes nothing of a cloud, a service or a server until `stackwright resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import completion
from stackwright.cli.cluster import NAMESPACE, KubeconfigOption, NamespaceOption
from stackwright.cli.common import say

if TYPE_CHECKING:
    from stackwright.api.meta import Kind
    from stackwright.core.plan import Object
    from stackwright.core.ports import Cluster, Reader

WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="CLOUD|SERVICE|KIND/NAME",
        help="A cloud, a service of it (keystone), or an object of any kind of Stackwright's (OpenStackServer/web).",
        autocompletion=completion.pausable,
    ),
]


def pause(what: WhatArgument, namespace: NamespaceOption = NAMESPACE, kubeconfig: KubeconfigOption = None) -> None:
    """Pause a cloud, a service or a server: the operator changes nothing of it until it is resumed.

    What runs goes on running. The state is told as before, failover of the database goes on, and a deletion of a cloud
    or service is carried out. A cloud that is paused pauses its services. A server or cluster is paused as Cluster API
    pauses it, and holds its deletion too.

    For example:

      stackwright pause cloud

      stackwright pause keystone

      stackwright pause OpenStackServer/web -n demo
    """
    change(what, namespace, kubeconfig, paused=True)


def change(what: str, namespace: str, kubeconfig: KubeconfigOption, *, paused: bool) -> None:
    """Pause or resume. Ends with exit code 1 when there is no such object."""
    from stackwright.cli.cluster import connected, run

    async def work() -> None:
        async with connected(kubeconfig) as cluster:
            kind, obj = await found(cluster, namespace, what)
            changed = await _annotated(cluster, kind, obj, paused)
            done = "paused" if paused else "resumed"
            say(f"{kind.kind} {namespace}/{obj['metadata']['name']}: {done if changed else f'was {done} already'}")

    run(work())


async def found(reader: Reader, namespace: str, what: str) -> tuple[Kind, Object]:
    """The object that a word means: KIND/NAME, a cloud, or a service as clouds, programs or objects name it.

    Raises CliError with what there is.
    """
    from stackwright.cli.cluster import CliError
    from stackwright.cli.operate.wait import asked
    from stackwright.cloud.registry import CLOUD_KINDS, SERVICE_KINDS
    from stackwright.services.registry import SERVICES

    if "/" in what:
        kinds, name = asked(what, "pause")
        names = {name}
    else:
        kinds = (*CLOUD_KINDS, *SERVICE_KINDS)
        names = {what, *(each.name for each in SERVICES if what in (each.service, each.name))}
    there = []
    for kind in (resource.KIND for resource in kinds):
        for obj in await reader.list(kind, namespace):
            if obj["metadata"]["name"] in names:
                return kind, obj
            there.append(f"{kind.kind}/{obj['metadata']['name']}")
    raise CliError(f"There is no {what} in namespace {namespace}; there is: {', '.join(sorted(there)) or 'nothing'}")


async def _annotated(cluster: Cluster, kind: Kind, obj: Object, paused: bool) -> bool:
    from stackwright.cloud.registry import SERVER_KINDS
    from stackwright.controllers.infra import clusterapi
    from stackwright.core.objects import key_of
    from stackwright.core.pausing import ANNOTATION
    from stackwright.runtime.cycle import pausing

    of_cluster_api = kind in {resource.KIND for resource in SERVER_KINDS}
    if (clusterapi.is_capi_paused(obj) if of_cluster_api else pausing.is_stackwright_paused(obj)) == paused:
        return False
    note = {clusterapi.PAUSED if of_cluster_api else ANNOTATION: "true" if paused else None}
    await cluster.patch(kind, key_of(obj), {"metadata": {"annotations": note}})
    return True
