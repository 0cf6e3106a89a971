"""`stackwright rollback`: restores an earlier spec of a cloud."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import completion
from stackwright.cli.change.confirm import YesOption
from stackwright.cli.cluster import NAMESPACE, KubeconfigOption, NamespaceOption
from stackwright.cli.common import say

if TYPE_CHECKING:
    from stackwright.core.plan import Object
    from stackwright.core.ports import Cluster, Reader
    from stackwright.core.secrets.revisions import Revision


def rollback(
    name: Annotated[str, typer.Argument(help="The cloud.", autocompletion=completion.clouds)],
    revision: Annotated[
        int | None,
        typer.Argument(min=1, help="A revision of `stackwright history --cloud`; default: the previous one."),
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    wait: Annotated[bool, typer.Option(help="Wait until the cloud is ready.")] = True,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Timeout of the wait in seconds.")
    ] = 900,
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
    from stackwright.cli.change.confirm import confirm, foreseen_losses
    from stackwright.cli.change.manifests import MANAGER, BadManifest, Manifest, check_changes
    from stackwright.cli.cluster import CliError, connected, run, the_cloud
    from stackwright.cli.operate.wait import Patience, follow
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


async def kept(reader: Reader, cloud: Object) -> list[Revision]:
    """The revisions of a cloud, the oldest first."""
    from stackwright.api.kinds import SECRET
    from stackwright.core.secrets import revisions

    return revisions.of(cloud, await reader.list(SECRET, cloud["metadata"]["namespace"], revisions.labels(cloud)))


def choose(found: list[Revision], number: int | None, cloud: Object) -> Revision:
    """The revision of that number, or the newest with another spec. Raises CliError with the stored revisions."""
    from stackwright.cli.cluster import CliError
    from stackwright.core.digest import digest

    now = digest(cloud.get("spec") or {})
    fitting = [each for each in found if each.number == number or (number is None and each.digest != now)]
    if not fitting:
        there = ", ".join(str(each.number) for each in found) or "none"
        what = f"revision {number}" if number else "earlier revision"
        raise CliError(f"{cloud['kind']} {cloud['metadata']['name']} has no {what}; kept: {there}")
    return fitting[-1]


async def spec_of(cluster: Cluster, revision: Revision) -> dict[str, Any]:
    """The spec of a revision. Raises CliError if it was deleted, is not readable, or was changed."""
    from stackwright.api.kinds import SECRET
    from stackwright.cli.cluster import CliError
    from stackwright.core.digest import digest
    from stackwright.core.ports import secret_data
    from stackwright.core.secrets.revisions import FIELD

    name = f"Secret {'/'.join(revision.key)}"
    try:
        spec = json.loads(secret_data(await cluster.get(SECRET, revision.key))[FIELD])
    except (KeyError, ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict):
        raise CliError(f"{name} contains no spec")
    if digest(spec) != revision.digest:
        raise CliError(f"{name} was changed: its spec is not the one that the operator stored")
    return spec
