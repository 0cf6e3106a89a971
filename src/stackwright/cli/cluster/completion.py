"""Shell completion of arguments: services, charts, and names of objects in the cluster.

Completion must neither show errors nor wait: without a cluster, or after two seconds, it offers nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from stackwright.api.meta import Kind
    from stackwright.core.ports import Reader

SECONDS = 2.0


def services(ctx: typer.Context, incomplete: str) -> list[str]:
    """Services by their names in an OpenStackDeployment, their programs, and the operator."""
    from stackwright.services.registry import SERVICES

    return _fitting({"operator", *(word for each in SERVICES for word in (each.service, each.name))}, incomplete)


def charts(ctx: typer.Context, incomplete: str) -> list[str]:
    from stackwright.services.registry import SERVICES

    return _fitting({chart.name for each in SERVICES for chart in each.charts}, incomplete)


def clouds(ctx: typer.Context, incomplete: str) -> list[str]:
    from stackwright.cloud.registry import CLOUD_KINDS

    return _fitting(_named(ctx, [each.KIND for each in CLOUD_KINDS]), incomplete)


def servers(ctx: typer.Context, incomplete: str) -> list[str]:
    """OpenStackServers and OpenStackClusters."""
    from stackwright.api.infra.cluster.cluster import OpenStackCluster
    from stackwright.api.infra.server import OpenStackServer

    return _fitting(_named(ctx, [OpenStackServer.KIND, OpenStackCluster.KIND]), incomplete)


def pausable(ctx: typer.Context, incomplete: str) -> list[str]:
    """Clouds, and services of them."""
    from stackwright.cloud.registry import CLOUD_KINDS, SERVICE_KINDS

    return _fitting(_named(ctx, [each.KIND for each in (*CLOUD_KINDS, *SERVICE_KINDS)]), incomplete)


def releases(ctx: typer.Context, incomplete: str) -> list[str]:
    from stackwright.api.kinds import SECRET
    from stackwright.core.helm.records import SELECTOR, revisions

    async def names(cluster: Reader, namespace: str) -> set[str]:
        return {each.name for each in revisions(await cluster.list(SECRET, namespace, SELECTOR))}

    return _fitting(_names(ctx, names), incomplete)


def namespaces(ctx: typer.Context, incomplete: str) -> list[str]:
    from stackwright.api.kinds import NAMESPACE

    async def names(cluster: Reader, namespace: str) -> set[str]:
        return {each["metadata"]["name"] for each in await cluster.list(NAMESPACE)}

    return _fitting(_names(ctx, names), incomplete)


def _fitting(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _named(ctx: typer.Context, kinds: Collection[Kind]) -> set[str]:
    async def names(cluster: Reader, namespace: str) -> set[str]:
        lists = await asyncio.gather(*(cluster.list(kind, namespace) for kind in kinds))
        return {each["metadata"]["name"] for found in lists for each in found}

    return _names(ctx, names)


def _names(ctx: typer.Context, names: Callable[[Reader, str], Awaitable[set[str]]]) -> set[str]:
    """Names in the cluster and namespace that the words before the cursor select; none without a response."""
    from stackwright.cli.cluster.connection import NAMESPACE, connected

    words: dict[str, Any] = ctx.params

    async def work() -> set[str]:
        given = words.get("kubeconfig")
        async with connected(Path(given) if given else None, None) as cluster:
            return await names(cluster, words.get("namespace") or NAMESPACE)

    try:
        return asyncio.run(asyncio.wait_for(work(), SECONDS))
    except Exception:  # any error: completion must not print it
        return set()
