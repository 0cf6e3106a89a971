"""`stackwright pause`: the operator does not change a cloud, a service or a server until `stackwright resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import completion, object_names
from stackwright.cli.cluster import NAMESPACE, KubeconfigOption, NamespaceOption
from stackwright.cli.common import say

if TYPE_CHECKING:
    from stackwright.api.meta import Kind
    from stackwright.core.plan import Object
    from stackwright.core.ports import Cluster

WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="CLOUD|SERVICE|KIND/NAME",
        help="A cloud, one of its services (keystone), or an object as KIND/NAME (OpenStackServer/web).",
        autocompletion=completion.pausable,
    ),
]


def pause(what: WhatArgument, namespace: NamespaceOption = NAMESPACE, kubeconfig: KubeconfigOption = None) -> None:
    """Pause a cloud, a service or a server: the operator does not change it until it is resumed.

    Running pods continue to run. The status is still reported, failover of the database continues, and a cloud
    or service can be deleted. A paused cloud pauses its services. A server or cluster is paused as Cluster API
    pauses it, including its deletion.

    For example:

      stackwright pause cloud

      stackwright pause keystone

      stackwright pause OpenStackServer/web -n demo
    """
    change(what, namespace, kubeconfig, paused=True)


def change(what: str, namespace: str, kubeconfig: KubeconfigOption, *, paused: bool) -> None:
    """Pause or resume. Ends with exit code 1 if the object does not exist."""
    from stackwright.cli.cluster import connected, run

    async def work() -> None:
        async with connected(kubeconfig) as cluster:
            kind, obj = await object_names.found(cluster, namespace, what, "pause")
            changed = await _annotated(cluster, kind, obj, paused)
            done = "paused" if paused else "resumed"
            say(f"{kind.kind} {namespace}/{obj['metadata']['name']}: {done if changed else f'already {done}'}")

    run(work())


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
