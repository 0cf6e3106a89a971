"""All checks of manifests against a cluster, before any of them is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackwright.api.kinds import NAMESPACE as NAMESPACE_KIND
from stackwright.cli.manifests.load import MANAGER, BadManifest, Manifest, check_changes
from stackwright.cli.manifests.namespaces import check_namespaces
from stackwright.cli.manifests.owners import check_owners
from stackwright.core.errors import Conflict, NotServed, TerminalError
from stackwright.core.objects import key_of

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.core.ports import Reader


async def check_reads(reader: Reader, manifests: list[Manifest]) -> None:
    """Raises BadManifest with all errors that reading the cluster shows: namespaces, owners, changes of immutable
    fields.
    """
    errors = []
    for check in (check_namespaces, check_owners, check_changes):
        try:
            await check(reader, manifests)
        except BadManifest as error:
            errors.append(str(error))
    if errors:
        raise BadManifest("\n".join(errors))


async def check_all(cluster: KubernetesCluster, manifests: list[Manifest]) -> None:
    """The same, then what the API server rejects, which repeats the errors of changes."""
    await check_reads(cluster, manifests)
    await dry_run(cluster, manifests)


async def dry_run(cluster: KubernetesCluster, manifests: list[Manifest]) -> None:
    """Raises BadManifest with all errors that the API server reports.

    Each manifest is validated alone, as if the others were not applied.
    """
    there = {obj["metadata"]["name"] for obj in await cluster.list(NAMESPACE_KIND)}
    errors = []
    for each in manifests:
        key = key_of(each.obj)
        try:
            if each.kind.namespaced and key[0] not in there:
                await cluster.get(each.kind, key)  # at least whether the API server serves the kind
            else:
                await cluster.dry_run(each.kind, each.obj, MANAGER)
        except (TerminalError, NotServed, Conflict) as error:
            errors.append(f"{each.where}{error}")
    if errors:
        raise BadManifest("\n".join(errors))
