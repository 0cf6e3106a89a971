"""`stackwright rollback`: a cloud gets a spec that it had before."""

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
        typer.Argument(min=1, help="A revision of `stackwright history --cloud`; the one before if not given."),
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    wait: Annotated[bool, typer.Option(help="Wait until the cloud is ready.")] = True,
    timeout: Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait at most.")] = 900,
    yes: YesOption = False,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Give a cloud the spec that it had before; data stays as it is.

    What that spec does not have is uninstalled, after you were asked. The spec becomes a new revision, so a rollback
    can be undone by a rollback. The version of OpenStack only goes forward: database schemas are not converted back.
    A cloud with three servers that vote does not go back to size `single`.

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
                raise CliError(f"There is no cloud in namespace {namespace}")
            kind = kind_of(cloud["kind"])
            chosen = choose(await kept(cluster, cloud), revision, cloud)
            spec = await spec_of(cluster, chosen)
            title = f"{kind.kind} {namespace}/{name}"
            if (cloud.get("spec") or {}) == spec:
                say(f"{title}: has the spec of revision {chosen.number} already")
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
    """The revision of that number, or the newest whose spec is not that of now. Raises CliError with what there is."""
    from stackwright.cli.cluster import CliError
    from stackwright.core.digest import digest

    now = digest(cloud.get("spec") or {})
    fitting = [each for each in found if each.number == number or (number is None and each.digest != now)]
    if not fitting:
        there = ", ".join(str(each.number) for each in found) or "none"
        what = f"revision {number}" if number else "earlier revision"
        raise CliError(f"There is no {what} of {cloud['kind']} {cloud['metadata']['name']}; kept are: {there}")
    return fitting[-1]


async def spec_of(cluster: Cluster, revision: Revision) -> dict[str, Any]:
    """The spec that a revision keeps. Raises CliError when it was deleted, is not readable, or is not what was kept."""
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
        raise CliError(f"{name} holds no spec")
    if digest(spec) != revision.digest:
        raise CliError(f"{name} holds another spec than the operator kept: it was changed")
    return spec
