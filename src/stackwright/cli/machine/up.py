"""`stackwright up`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.confirm import YesOption
from stackwright.core.kubernetes.versions import NEWEST_TEXT, OLDEST_TEXT

if TYPE_CHECKING:
    from stackwright.cli.manifests.load import Manifest
    from stackwright.local.config import LocalCluster
    from stackwright.local.steps.context import Context

INTERRUPTED = (
    "Started processes continue to run and no data is lost: `stackwright up` resumes, "
    "`stackwright down` cleans up, `stackwright doctor` shows the state."
)


def up(
    nodes: Annotated[
        int | None, typer.Option(min=1, max=20, help="Number of Kubernetes nodes on this machine; default: as before.")
    ] = None,
    kubernetes: Annotated[
        str,
        typer.Option(
            metavar="VERSION",
            help=f"Version of the local Kubernetes: {NEWEST_TEXT} (the newest) or {OLDEST_TEXT} (the oldest supported "
            "one); default: as before, or the newest for a new cluster.",
        ),
    ] = "",
    bare: Annotated[bool, typer.Option("--bare", help="Start only Kubernetes, without operator and cloud.")] = False,
    cloud: Annotated[bool, typer.Option(help="Create the example cloud.")] = True,
    vm: Annotated[bool, typer.Option(help="Start a virtual machine in the cloud and log in to it.")] = True,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Manifest of the cloud to create or update; default: an example.",
        ),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Kubeconfig of an existing cluster to use instead of a local one, without --nodes, --kubernetes and "
            "--bare; --vm has no effect. $KUBECONFIG is ignored.",
        ),
    ] = None,
    images: Annotated[
        str,
        typer.Option(
            metavar="REGISTRY/PREFIX",
            help="Registry and prefix of published images; with --kubeconfig only, and required there.",
        ),
    ] = "",
    yes: YesOption = False,
) -> None:
    """Start the local Kubernetes, the operator, and a cloud; resume an interrupted start.

    In a cloud with compute, networking, images and public endpoints, a virtual machine is started and logged in to.

    The command asks for confirmation before it removes nodes with their data, and before a file deletes or uninstalls
    parts of an existing cloud, unless --yes is given.

    The manifests of a file are checked before the first step; the cluster checks them, too, if its operator already has
    this version, and again before the first of them is applied.

    A second call with the same options (--nodes, -f with an unchanged file, --kubeconfig, --images) changes nothing and
    ends in seconds; it checks a token and the virtual machine again.

    For example:

      stackwright up

      stackwright up --nodes 3 --no-cloud

      stackwright up --no-vm

      stackwright up --bare --kubernetes 1.32

      stackwright up -f examples/storage.yaml

      stackwright up --kubeconfig ~/.kube/config --images registry.example.org/stackwright

    """
    from stackwright.cli.failures import exit_on_local_error
    from stackwright.cli.ui.progress import progress, skipped
    from stackwright.local.cluster import bringup
    from stackwright.local.config import LocalCluster
    from stackwright.local.lock import exclusive
    from stackwright.local.steps.context import Context, check_version, remembered_nodes
    from stackwright.local.steps.openstack import demo

    cluster = LocalCluster.discover()
    if kubeconfig is not None and kubeconfig.resolve() == cluster.kubeconfig.resolve():
        kubeconfig = None  # our own
    if kubeconfig is not None and not kubeconfig.exists():
        raise typer.BadParameter(f"{kubeconfig} does not exist", param_hint="--kubeconfig")
    if kubeconfig is not None and not images:
        raise typer.BadParameter("--kubeconfig requires published images", param_hint="--images")
    if images and kubeconfig is None:
        raise typer.BadParameter("a local cluster uses images that are built here", param_hint="--images")
    if kubernetes and kubeconfig is not None:
        raise typer.BadParameter("an existing cluster has its version", param_hint="--kubernetes")
    for option in [name for name, given in (("--nodes", nodes), ("--bare", bare)) if given and kubeconfig is not None]:
        raise typer.BadParameter("only a local cluster has this option", param_hint=option)
    cluster = _with_version(cluster, kubernetes)
    with exit_on_local_error(INTERRUPTED), nullcontext() if kubeconfig else exclusive(cluster):
        count = 1 if kubeconfig else nodes or remembered_nodes(cluster)
        if not (kubeconfig or kubernetes):
            check_version(cluster)
        context = Context(cluster, count, bare, cloud, vm, image_prefix=images, kubeconfig=kubeconfig, manifest=file)
        context.applicable = lambda manifest: _applicable(context.kubeconfig_in_use, manifest, ask=not yes)
        if file:
            _check_early(context, _loaded(file))
        if not yes:
            _ask_about_nodes(context)
        bringup.up(context, progress(), skipped)
    if context.token:
        common.echo(f"\n$ stackwright shell -- openstack token issue\n{context.token}")
    if lines := demo.summary(context):
        common.echo("\n" + "\n".join(lines))
    common.echo(f"\nKubernetes is ready. Use it with:  export KUBECONFIG={context.kubeconfig_in_use}")


def _with_version(cluster: LocalCluster, version: str) -> LocalCluster:
    """The cluster with the wanted version of Kubernetes. Raises BadParameter if it is unknown or another one exists."""
    from stackwright.local.steps.context import homes, is_version_unknown
    from stackwright.local.tools import VERSIONS

    if not version:
        return cluster
    newest, *others = VERSIONS
    if version not in VERSIONS:
        raise typer.BadParameter(f"{version!r} is not one of {', '.join(VERSIONS)}", param_hint="--kubernetes")
    chosen = replace(cluster, kubernetes=version if version in others else "")
    if homes(cluster) and chosen != cluster and not is_version_unknown(cluster):
        text = f"the local cluster has Kubernetes {cluster.kubernetes or newest}; `stackwright down --purge` deletes it"
        raise typer.BadParameter(text, param_hint="--kubernetes")
    return chosen


def _ask_about_nodes(context: Context) -> None:
    """Asks for confirmation before nodes are removed. Raises LocalError if refused."""
    from stackwright.cli.cluster.connection import is_stopped
    from stackwright.cli.confirm import confirm
    from stackwright.cli.failures import CliError
    from stackwright.local.commands import LocalError
    from stackwright.local.steps.kubernetes.leaving import losses

    if context.kubeconfig or not context.surplus:
        return
    try:
        confirm(losses(context, running=not is_stopped()), "No node was removed.")
    except CliError as error:
        raise LocalError(str(error)) from None


def _loaded(file: Path) -> list[Manifest]:
    """The manifests, read as by `apply`; default namespace: that of the commands. Raises LocalError."""
    from stackwright.cli.manifests.load import BadManifest, load_all
    from stackwright.local.commands import LocalError

    try:
        return load_all([file], None)
    except BadManifest as error:
        raise LocalError(str(error)) from None


def _check_early(context: Context, manifests: list[Manifest]) -> None:
    """Checks the manifests as `apply` does, before any step, if the operator of this version runs in the cluster.

    Another version may have other kinds and checks, which this `up` replaces. Raises LocalError.
    """
    import asyncio

    from stackwright.cli.cluster.connection import connected, is_stopped
    from stackwright.cli.failures import CliError
    from stackwright.cli.follow import operators_of
    from stackwright.cli.manifests.checks import check_all
    from stackwright.cli.manifests.load import BadManifest
    from stackwright.core.errors import TerminalError, TransientError
    from stackwright.core.kubernetes.operator import images_of
    from stackwright.local.commands import LocalError
    from stackwright.local.config import IMAGE_PREFIX
    from stackwright.local.image import images

    if not context.kubeconfig and (is_stopped() or not context.cluster.kubeconfig.exists()):
        return
    ours = images.references(context.image_prefix or IMAGE_PREFIX)["operator"]

    async def work() -> None:
        async with connected(context.kubeconfig_in_use) as cluster:
            if any(ours in images_of(each) for each in await operators_of(cluster) or ()):
                await check_all(cluster, manifests)

    try:
        asyncio.run(work())
    except (BadManifest, TerminalError) as error:
        raise LocalError(f"{error}\nNothing was changed.") from None
    except (CliError, TransientError):
        return  # the steps repair or report a cluster that does not respond, and the last one checks again


def _applicable(kubeconfig: Path, file: Path, *, ask: bool) -> str:
    """The objects to apply, after the API server accepted each in a dry run and the user confirmed what they would
    delete.

    Raises LocalError if refused.
    """
    import asyncio
    import json

    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.confirm import confirm, foreseen_losses
    from stackwright.cli.failures import CliError
    from stackwright.cli.manifests.checks import check_all
    from stackwright.cli.manifests.load import BadManifest
    from stackwright.cli.manifests.namespaces import ordered
    from stackwright.cli.manifests.warnings import warn
    from stackwright.core.errors import TerminalError, TransientError
    from stackwright.local.commands import LocalError

    manifests = _loaded(file)

    async def work() -> tuple[list[Manifest], list[str]]:
        async with connected(kubeconfig) as cluster:
            await check_all(cluster, manifests)
            warn(manifests)
            lost = await foreseen_losses(cluster, manifests) if ask else []
            return await ordered(cluster, manifests), lost

    try:
        found, lost = asyncio.run(work())
        confirm(lost, "The cloud was not changed.")
    except (CliError, BadManifest, TransientError, TerminalError) as error:
        raise LocalError(str(error)) from None
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [each.obj for each in found]}, default=str)
