"""`stackwright up`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.change.confirm import YesOption

if TYPE_CHECKING:
    from stackwright.cli.change.manifests import Manifest
    from stackwright.local.steps.context import Context

INTERRUPTED = (
    "What was started goes on running and nothing is lost: `stackwright up` resumes, "
    "`stackwright down` cleans up, `stackwright doctor` shows what is there."
)


def up(
    nodes: Annotated[
        int | None, typer.Option(min=1, max=20, help="Kubernetes nodes on this machine; as before if not given.")
    ] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Only Kubernetes: no operator, no cloud.")] = False,
    cloud: Annotated[bool, typer.Option(help="Make the example cloud.")] = True,
    vm: Annotated[bool, typer.Option(help="Boot a virtual machine in the cloud, and log in to it.")] = True,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            exists=True,
            dir_okay=False,
            help="Make this cloud, or change yours to it; default: an example.",
        ),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Use this cluster, not a local one; $KUBECONFIG is not looked at."),
    ] = None,
    images: Annotated[
        str, typer.Option(metavar="REGISTRY/PREFIX", help="Where published images are; needed with --kubeconfig.")
    ] = "",
    yes: YesOption = False,
) -> None:
    """Start the local Kubernetes, the operator, and a cloud; resume, if it was interrupted.

    A cloud that has compute, networking, images, and public endpoints gets a virtual machine, which is logged in to.

    Before nodes leave, with all that is on them, and before a file deletes or uninstalls anything of a cloud that is
    there, you are asked; --yes is the answer in scripts.

    A second call changes nothing and ends in seconds; it asks for a token and for the virtual machine again.

    For example:

      stackwright up

      stackwright up --nodes 3 --no-cloud

      stackwright up --no-vm

      stackwright up -f examples/storage.yaml

      stackwright up --kubeconfig ~/.kube/config --images registry.example.org/stackwright

    """
    from stackwright.cli.ui.errors import explained
    from stackwright.cli.ui.progress import progress, skipped
    from stackwright.local import bringup
    from stackwright.local.config import LocalCluster
    from stackwright.local.lock import exclusive
    from stackwright.local.steps.context import Context, remembered_nodes
    from stackwright.local.steps.openstack import demo

    cluster = LocalCluster.discover()
    if kubeconfig is not None and kubeconfig.resolve() == cluster.kubeconfig.resolve():
        kubeconfig = None  # our own
    if kubeconfig is not None and not kubeconfig.exists():
        raise typer.BadParameter(f"{kubeconfig} does not exist", param_hint="--kubeconfig")
    if kubeconfig is not None and not images:
        raise typer.BadParameter("a cluster given by --kubeconfig needs published images", param_hint="--images")
    with explained(INTERRUPTED), nullcontext() if kubeconfig else exclusive(cluster):
        count = 1 if kubeconfig else nodes or remembered_nodes(cluster)
        context = Context(cluster, count, bare, cloud, vm, image_prefix=images, kubeconfig=kubeconfig, manifest=file)
        context.applicable = lambda manifest: _applicable(context.kubeconfig_in_use, manifest, ask=not yes)
        if file:
            _loaded(file)
        if not yes:
            _ask_about_nodes(context)
        bringup.up(context, progress(), skipped)
    if context.token:
        common.echo(f"\n$ stackwright shell -- openstack token issue\n{context.token}")
    if told := demo.summary(context):
        common.echo("\n" + "\n".join(told))
    common.echo(f"\nKubernetes is ready. Use it with:  export KUBECONFIG={context.kubeconfig_in_use}")


def _ask_about_nodes(context: Context) -> None:
    """Before any is taken away. Raises LocalError when refused."""
    from stackwright.cli.change.confirm import confirm
    from stackwright.cli.cluster import CliError, is_stopped
    from stackwright.local.commands import LocalError
    from stackwright.local.leaving import losses

    if context.kubeconfig or not context.surplus:
        return
    try:
        confirm(losses(context, running=not is_stopped()), "No node was taken away.")
    except CliError as error:
        raise LocalError(str(error)) from None


def _loaded(file: Path) -> list[Manifest]:
    """As `apply` reads it, in the namespace of commands where it names none. Raises LocalError."""
    from stackwright.cli.change.manifests import BadManifest, load
    from stackwright.cli.cluster import NAMESPACE
    from stackwright.local.commands import LocalError

    try:
        return load(file, NAMESPACE)
    except BadManifest as error:
        raise LocalError(str(error)) from None


def _applicable(kubeconfig: Path, file: Path, *, ask: bool) -> str:
    """The objects that are applied, after it was asked what these would take from what is there.

    Raises LocalError when refused.
    """
    import asyncio
    import json

    from stackwright.cli.change.apply import check_namespaces, ordered
    from stackwright.cli.change.confirm import confirm, foreseen_losses
    from stackwright.cli.change.manifests import BadManifest
    from stackwright.cli.cluster import CliError, connected
    from stackwright.core.ports import NotYet, Refused
    from stackwright.local.commands import LocalError

    manifests = _loaded(file)

    async def work() -> tuple[list[Manifest], list[str]]:
        async with connected(kubeconfig) as cluster:
            await check_namespaces(cluster, manifests)
            lost = await foreseen_losses(cluster, manifests) if ask else []
            return await ordered(cluster, manifests), lost

    try:
        found, lost = asyncio.run(work())
        confirm(lost, "The cloud was not changed.")
    except (CliError, BadManifest, NotYet, Refused) as error:
        raise LocalError(str(error)) from None
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [each.obj for each in found]}, default=str)
