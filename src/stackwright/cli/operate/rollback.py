"""`stackwright rollback`: restores an earlier spec of a cloud."""

from __future__ import annotations

from typing import Annotated

import typer

from stackwright.cli.cluster import completion
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.common import TimeoutOption, say
from stackwright.cli.confirm import YesOption


def rollback(
    name: Annotated[str, typer.Argument(help="The cloud.", autocompletion=completion.clouds)],
    revision: Annotated[
        int | None,
        typer.Argument(min=1, help="A revision of `stackwright history --cloud`; default: the previous one."),
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    wait: Annotated[bool, typer.Option(help="Wait until the cloud is ready.")] = True,
    timeout: TimeoutOption = 900,
    yes: YesOption = False,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Restore an earlier spec of a cloud; data is not changed.

    Services that the earlier spec lacks are uninstalled after confirmation. The spec becomes a new revision: a rollback
    can be undone by a rollback. The OpenStack version cannot be lowered: database schemas are not converted back.
    A cloud with three voting database servers cannot return to size `single`.

    For example:

      stackwright rollback cloud

      stackwright rollback cloud 3 --yes --no-wait
    """
    from stackwright.cli.cluster.connection import connected, the_cloud
    from stackwright.cli.confirm import confirm, foreseen_losses
    from stackwright.cli.failures import CliError, run
    from stackwright.cli.follow import Patience, follow
    from stackwright.cli.manifests.load import MANAGER, BadManifest, Manifest, check_changes
    from stackwright.cli.state.revisions import choose, kept, spec_of
    from stackwright.cloud.registry import CLOUD_KINDS, kind_of
    from stackwright.runtime.cluster.specs import replace_spec

    async def work() -> None:
        async with connected(kubeconfig) as cluster:
            cloud = await the_cloud(cluster, namespace, name, CLOUD_KINDS)
            if cloud is None:
                raise CliError(f"No cloud found in namespace {namespace}")
            kind = kind_of(cloud["kind"])
            chosen = choose(await kept(cluster, cloud), revision, cloud)
            spec = await spec_of(cluster, chosen)
            title = f"{kind.kind} {namespace}/{name}"
            if (cloud.get("spec") or {}) == spec:
                say(f"{title}: already has the spec of revision {chosen.number}")
                return
            wanted = {"metadata": {"namespace": namespace, "name": name}, "spec": spec}
            asked = [Manifest(kind, wanted, whole=True)]
            try:
                await check_changes(cluster, asked)
            except BadManifest as error:
                raise CliError(f"{error}\nThe cloud was not changed.") from None
            if not yes:
                lost = await foreseen_losses(cluster, asked)
                confirm(lost, "The cloud was not changed.")
            await replace_spec(cluster, kind, wanted, MANAGER)
            say(f"{title}: rolled back to revision {chosen.number}")
            if wait:
                await follow(cluster, namespace, name, Patience(timeout=timeout))

    run(work())
