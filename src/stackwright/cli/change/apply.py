"""`stackwright apply`: checks all manifests before it applies the first.

Manifests are validated locally, then by the API server, with its admission, in a dry run of each.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.cluster.options import KubeconfigOption, OnlyNamespaceOption
from stackwright.cli.common import TimeoutOption, no_output, say
from stackwright.cli.confirm import YesOption
from stackwright.cli.ui.output import Data

if TYPE_CHECKING:
    from stackwright.cli.manifests.load import Manifest
    from stackwright.core.ports import Cluster, Reader

Tell = Callable[[str], None]
Result = tuple["Manifest", str]  # created, changed or unchanged


def apply(
    file: Annotated[
        list[Path],
        typer.Option("--file", "-f", metavar="FILE", help="Manifests in YAML; - for standard input. May be repeated."),
    ],
    namespace: OnlyNamespaceOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all objects are ready.")] = False,
    timeout: TimeoutOption = 600,
    yes: YesOption = False,
    output: Annotated[
        Data | None,
        typer.Option("--output", "-o", help="Format of the output; prints the objects instead of progress."),
    ] = None,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Check manifests and apply them. All errors are reported at once; if one exists, nothing is applied.

    The API server validates each manifest in a dry run first, if the namespace exists. Several files are applied in
    their order; an object may be in several of them if it is equal in all. A missing namespace is created only if a
    manifest names it.

    The command asks for confirmation before a Helm release is uninstalled, before a cloud, service, database or server
    is deleted, and before a server, volume or floating IP in an OpenStack is deleted. Without a terminal it fails,
    unless --yes is given.

    For example:

      stackwright apply -f cloud.yaml

      stackwright apply -f secrets.yaml -f cloud.yaml --wait --timeout 900

      stackwright apply -f cloud.yaml -o json
    """
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.confirm import confirm, foreseen_losses
    from stackwright.cli.failures import fail, run
    from stackwright.cli.manifests.checks import check_all
    from stackwright.cli.manifests.load import BadManifest, load_all
    from stackwright.cli.manifests.warnings import warn

    async def work(manifests: list[Manifest]) -> None:
        async with connected(kubeconfig) as cluster:
            await check_all(cluster, manifests)
            warn(manifests)
            if not yes:
                confirm(await foreseen_losses(cluster, manifests), "Nothing was applied.")
            tell = say if output is None else no_output
            results: list[Result] = []
            try:
                await apply_all(cluster, manifests, results, tell)
                await _warn(cluster, manifests)
                if wait:
                    await _wait(cluster, manifests, timeout, tell)
            finally:
                if output is not None:
                    await _print(cluster, results, output)

    try:
        run(work(load_all(file, namespace)))
    except BadManifest as error:
        fail(f"{error}\nNothing was applied.")


async def apply_all(cluster: Cluster, manifests: list[Manifest], results: list[Result], tell: Tell = say) -> None:
    """Apply first the namespaces, also those that manifests only refer to; then the manifests in their order. Adds each
    applied manifest to `results`, which is complete up to an error, too.
    """
    from stackwright.cli.manifests.namespaces import ordered

    for manifest in await ordered(cluster, manifests):
        result = await _one(cluster, manifest)
        tell(f"{manifest.name}: {result}")
        results += [(manifest, result)]


async def _one(cluster: Cluster, manifest: Manifest) -> str:
    from stackwright.cli.manifests.load import MANAGER
    from stackwright.core.conditions import is_as_before
    from stackwright.core.objects import key_of

    before = await cluster.get(manifest.kind, key_of(manifest.obj))
    after = await cluster.apply(manifest.kind, manifest.obj, MANAGER)
    # The resourceVersion also changes with the status, and when a default of the status is stored.
    return "created" if before is None else "unchanged" if is_as_before(before, after) else "changed"


async def _warn(reader: Reader, manifests: list[Manifest]) -> None:
    """Warns of namespaces that the operator does not manage, and of clouds that stay blocked by an older cloud in their
    namespace.
    """
    from stackwright.cli.follow import unmanaged_by
    from stackwright.cloud.registry import CLOUD_KINDS, RESOURCES
    from stackwright.controllers.cloud.converge import another
    from stackwright.controllers.cloud.observe import older_clouds
    from stackwright.core.errors import TerminalError, TransientError
    from stackwright.core.objects import key_of

    ours = {resource.KIND for resource in RESOURCES if resource.KIND.namespaced}
    for namespace in sorted({each.obj["metadata"]["namespace"] for each in manifests if each.kind in ours}):
        with suppress(TransientError):
            if why := await unmanaged_by(reader, namespace):
                common.echo(f"Warning: {why}", err=True)
    kinds = {resource.KIND for resource in CLOUD_KINDS}
    for each in manifests:
        with suppress(TransientError, TerminalError):  # everything is applied, and the status contains the same cause
            obj = await reader.get(each.kind, key_of(each.obj)) if each.kind in kinds else None
            if obj and (others := await older_clouds(each.kind, reader, obj)):
                common.echo(f"Warning: {each.name} stays blocked: {another(others).message}", err=True)


async def _print(reader: Reader, results: list[Result], output: Data) -> None:
    """Prints the applied objects in the format of `status`."""
    from stackwright.cli.ui.output import dumped
    from stackwright.cli.ui.resource_tree import described
    from stackwright.core.objects import key_of

    rows = []
    for manifest, result in results:
        current = await reader.get(manifest.kind, key_of(manifest.obj)) or manifest.obj
        rows.append({**described({**current, "kind": manifest.kind.kind}), "result": result})
    common.data(dumped(rows, output))


async def _wait(cluster: Cluster, manifests: list[Manifest], timeout: float, tell: Tell = say) -> None:
    """Waits for each object with a condition Ready, in order; the timeout is for all together."""
    import time

    from stackwright.cli.follow import Patience, follow
    from stackwright.cloud.registry import BY_KIND, WITHOUT_READY

    end = time.monotonic() + timeout
    for manifest in manifests:
        resource, meta = BY_KIND.get(manifest.kind.kind), manifest.obj["metadata"]
        if resource is None or resource in WITHOUT_READY or manifest.kind != resource.KIND:
            continue
        patience = Patience(timeout=max(0.0, end - time.monotonic()))
        await follow(cluster, meta["namespace"], meta["name"], patience, tell, (resource,))
