"""All checks of manifests against a cluster, before any of them is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackwright.api.kinds import NAMESPACE as NAMESPACE_KIND
from stackwright.cli.manifests.load import MANAGER, BadManifest, Manifest, check_changes
from stackwright.cli.manifests.namespaces import check_namespaces
from stackwright.core.ports import Conflict, NotServed, TerminalError

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster


async def check_all(cluster: KubernetesCluster, manifests: list[Manifest]) -> None:
    """Raises BadManifest with what is wrong: namespaces, changes of immutable fields, rejections of the API server."""
    await check_namespaces(cluster, manifests)
    await check_changes(cluster, manifests)
    await dry_run(cluster, manifests)


async def dry_run(cluster: KubernetesCluster, manifests: list[Manifest]) -> None:
    """Raises BadManifest with all errors that the API server reports.

    Each manifest is validated alone, as if the others were not applied.
    """
    there = {obj["metadata"]["name"] for obj in await cluster.list(NAMESPACE_KIND)}
    errors = []
    for each in manifests:
        if each.kind.namespaced and each.obj["metadata"]["namespace"] not in there:
            continue
        try:
            await cluster.dry_run(each.kind, each.obj, MANAGER)
        except (TerminalError, NotServed, Conflict) as error:
            errors.append(f"{each.where}{error}")
    if errors:
        raise BadManifest("\n".join(errors))
