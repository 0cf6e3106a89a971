"""Pauses and resumes an object, for `pause` and `resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import object_names
from stackwright.cli.cluster import completion
from stackwright.cli.cluster.options import KubeconfigOption
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


def change(what: str, namespace: str, kubeconfig: KubeconfigOption, *, paused: bool) -> None:
    """Pause or resume. Ends with exit code 1 if the object does not exist."""
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import run

    async def work() -> None:
        async with connected(kubeconfig) as cluster:
            kind, obj = await object_names.found(cluster, namespace, what, "pause")
            changed = await _annotated(cluster, kind, obj, paused)
            done = "paused" if paused else "resumed"
            say(f"{kind.kind} {namespace}/{obj['metadata']['name']}: {done if changed else f'already {done}'}")

    run(work())


async def _annotated(cluster: Cluster, kind: Kind, obj: Object, paused: bool) -> bool:
    from stackwright.cloud.registry import INFRA_KINDS
    from stackwright.core.objects import key_of
    from stackwright.core.pausing import CLUSTER_API, STACKWRIGHT

    pause = CLUSTER_API if kind in {resource.KIND for resource in INFRA_KINDS} else STACKWRIGHT
    if pause.is_set(obj) == paused:
        return False
    note = {pause.annotation: "true" if paused else None}
    await cluster.patch(kind, key_of(obj), {"metadata": {"annotations": note}})
    return True
