"""Pauses and resumes an object, for `pause` and `resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import completion, object_names
from stackwright.cli.cluster import KubeconfigOption
from stackwright.cli.common import say

if TYPE_CHECKING:
    from stackwright.api.meta import Kind
    from stackwright.core.plan import Object
    from stackwright.core.ports import Cluster, Reader

WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="CLOUD|SERVICE|KIND/NAME",
        help="A cloud, one of its services (keystone), or an object as KIND/NAME (OpenStackServer/web).",
        autocompletion=completion.pausable,
    ),
]


def change(what: str, namespace: str, kubeconfig: KubeconfigOption, *, paused: bool) -> None:
    """Pause or resume. Ends with exit code 1 if the object does not exist."""
    from stackwright.cli.cluster import connected, run

    async def work() -> None:
        async with connected(kubeconfig) as cluster:
            kind, obj = await found(cluster, namespace, what)
            changed = await _annotated(cluster, kind, obj, paused)
            done = "paused" if paused else "resumed"
            say(f"{kind.kind} {namespace}/{obj['metadata']['name']}: {done if changed else f'already {done}'}")

    run(work())


async def found(reader: Reader, namespace: str, what: str) -> tuple[Kind, Object]:
    """The object of a word: KIND/NAME, a cloud, or a service by its name in a cloud, of its program or its object.

    Raises CliError that lists the existing objects.
    """
    from stackwright.cli.cluster import CliError
    from stackwright.cloud.registry import CLOUD_KINDS, SERVICE_KINDS
    from stackwright.services.registry import SERVICES

    if "/" in what:
        kinds, name = object_names.parse(what, "pause")
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
    raise CliError(f"No {what} found in namespace {namespace}; found: {', '.join(sorted(there)) or 'nothing'}")


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
