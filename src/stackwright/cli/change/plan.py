"""`stackwright plan`: what the operator would do, computed by its own controllers on a copy in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import common
from stackwright.cli.cluster import NAMESPACE, OPERATOR_NAMESPACE, KubeconfigOption, OnlyNamespaceOption
from stackwright.cli.output import Format, FormatOption

if TYPE_CHECKING:
    from stackwright.cli.change.costs import Render
    from stackwright.cli.change.manifests import Manifest
    from stackwright.cli.change.plan_render import Background, Entry
    from stackwright.core.openstack.access import Access
    from stackwright.core.ports import Reader
    from stackwright.core.settings import Settings
    from stackwright.simulate import Cause, Forecast, Outside, Request

EXIT_CHANGES = 2
IMAGES = "stackwright-images"  # the ConfigMap from which the operator knows its images


def plan(
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", metavar="FILE", help="Manifests to plan; - for standard input. May be repeated."),
    ] = None,
    namespace: OnlyNamespaceOption = None,
    delete: Annotated[
        str | None, typer.Option("--delete", metavar="NAME", help="Plan the deletion of this cloud.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show all values, also those of new objects.")] = False,
    output: FormatOption = Format.TABLE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Show what a manifest would change, without changing anything.

    Without a file: show the pending work of the operator. The plan assumes that each step succeeds. It uses the
    charts of this program and the images of the operator.

    Exit code 0: no changes; 2: changes; 1: failure or wrong usage.

    For example:

      stackwright plan -f cloud.yaml

      stackwright plan --delete cloud
    """
    from stackwright.cli.change.manifests import BadManifest, load_all
    from stackwright.cli.change.plan_render import summary
    from stackwright.cli.cluster import fail, run
    from stackwright.cli.ui.steps import lines

    try:
        manifests = load_all(file or [], namespace)
        found, stuck = run(_work(manifests, namespace or NAMESPACE, delete, kubeconfig))
    except BadManifest as error:
        fail(f"{error}\nNothing was changed.")
    if output is not Format.TABLE:
        from stackwright.cli.output import dumped

        data = {
            "changes": [entry.as_dict() for entry in found],
            "stuck": {name: str(cause) for name, cause in stuck.items()},
        }
        common.data(dumped(data, output))
    else:
        common.echo("\n".join(_text(found, stuck, lines(found, full=full, colour=common.coloured()))), painted=True)
    if summary(found):
        raise typer.Exit(EXIT_CHANGES)


def _text(found: list[Entry], stuck: dict[str, Cause], lines: list[str]) -> list[str]:
    from stackwright.cli.change.plan_render import summary
    from stackwright.core.kubernetes.workload_health import causes

    text = [*lines, "", summary(found)] if lines else ["No changes."]
    if stuck:
        by_message = {cause.message: cause for cause in stuck.values()}
        shared = causes({name: cause.message for name, cause in stuck.items()})
        text += [
            "",
            "These objects would not become ready:",
            *(common.safe(f"  {names}: {by_message[message]}") for names, message in sorted(shared.items())),
        ]
    return text


async def _work(
    manifests: list[Manifest], namespace: str, delete: str | None, kubeconfig: Path | None
) -> tuple[list[Entry], dict[str, Cause]]:
    from stackwright.cli.change.apply import check_namespaces, ordered
    from stackwright.cli.change.manifests import check_changes
    from stackwright.cli.cluster import connected

    async with connected(kubeconfig) as cluster:
        await check_namespaces(cluster, manifests)
        await check_changes(cluster, manifests)
        tell = partial(common.echo, err=True)
        return await foresee(cluster, await ordered(cluster, manifests), namespace, delete, tell=tell)


async def foresee(
    cluster: Reader,
    manifests: list[Manifest],
    namespace: str,
    delete: str | None = None,
    *,
    resumed: bool = False,
    assuming: bool = False,
    tell: Callable[[str], None] = common.nothing,
) -> tuple[list[Entry], dict[str, Cause]]:
    """One forecast for each namespace that the manifests name: the steps, and the objects that would not become ready.

    resumed   as if nothing were paused
    assuming  as if the credentials of all OpenStacks were valid
    tell      receives what the plan lacks
    """
    import time

    from stackwright.cli.change.costs import rendering

    spaces = sorted({m.obj["metadata"]["namespace"] for m in manifests if m.kind.namespaced} or {namespace})
    found: list[Entry] = []
    stuck: dict[str, Cause] = {}
    known = await operator_settings(cluster)
    if not known.images:
        where = f"{OPERATOR_NAMESPACE}/{IMAGES}"
        tell(f"Note: ConfigMap {where} does not exist, so the plan shows image names instead of references.")
    written = await _with_secrets(cluster, manifests)
    for space in spaces:
        asked = replace(await _request(cluster, space, manifests, delete), resumed=resumed, assuming=assuming)
        async with outside(written, space) as asking:
            with rendering(tell) as render:
                more, problems = await forecast(cluster, known, asked, time.time(), asking, render)
        # A namespace of several forecasts is shown once.
        found += [entry for entry in more if entry.subject[0] != "Namespace" or entry not in found]
        stuck |= problems
    return found, stuck


async def _with_secrets(cluster: Reader, manifests: list[Manifest]) -> Reader:
    """The cluster as it is, with the manifests' Secrets: credentials of a cloud may be in the same file."""
    from stackwright.api.kinds import SECRET
    from stackwright.cli.change.manifests import MANAGER
    from stackwright.runtime.memory import MemoryCluster

    written = MemoryCluster(cluster)
    for each in manifests:
        if each.kind == SECRET:
            await written.apply(SECRET, each.obj, MANAGER)
    return written


async def _request(reader: Reader, namespace: str, manifests: list[Manifest], delete: str | None) -> Request:
    from stackwright.cli.change.manifests import MANAGER
    from stackwright.cli.cluster import CliError, the_cloud
    from stackwright.cloud.registry import CLOUD_KINDS, kind_of
    from stackwright.simulate import Request

    clouds = {resource.KIND for resource in CLOUD_KINDS}
    mine = [m for m in manifests if m.obj["metadata"].get("namespace", namespace) == namespace]
    gone = []
    if both := [m for m in mine if m.kind in clouds and m.obj["metadata"]["name"] == delete]:
        raise CliError(f"{both[0].name} is in a manifest and in --delete; use only one of them")
    if delete is not None or not manifests:
        cloud = await the_cloud(reader, namespace, delete, CLOUD_KINDS)
        if cloud is None:
            hint = "" if delete else "; name a manifest with -f FILE"
            raise CliError(f"No cloud found in namespace {namespace}{hint}")
        if delete:
            gone = [(kind_of(cloud["kind"]), (namespace, delete))]
    applied = tuple((m.kind, m.obj) for m in mine if not m.whole)
    replaced = tuple((m.kind, m.obj) for m in mine if m.whole)
    return Request(namespace, applied, tuple(gone), MANAGER, replaced)


async def operator_settings(reader: Reader) -> Settings:
    """The operator's settings: its images, and the charts of this program."""
    from stackwright.adapters.helm.command import chart_digests, privileged_charts
    from stackwright.api.kinds import CONFIGMAP
    from stackwright.core.settings import Settings
    from stackwright.simulate import images

    configmap = await reader.get(CONFIGMAP, (OPERATOR_NAMESPACE, IMAGES))
    return Settings(images(configmap), chart_digests(), privileged_charts(), namespace=OPERATOR_NAMESPACE)


@asynccontextmanager
async def outside(reader: Reader, namespace: str) -> AsyncIterator[Outside]:
    """Access to the contents of the cloud by its public endpoints, and to the OpenStacks of servers."""
    from stackwright.adapters.openstack.inventory import PublicContents
    from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
    from stackwright.api.kinds import SECRET
    from stackwright.cli.cluster import CliError
    from stackwright.cli.use.access import reachable_login, read_access
    from stackwright.core.ports import TransientError
    from stackwright.simulate import Outside

    async def ask() -> Access:
        try:
            return await read_access(reader, namespace)
        except CliError as error:
            raise TransientError(str(error)) from None

    way = partial(reachable_login, reader)
    clouds = OpenStackClouds(partial(reader.get, SECRET), lambda controller, key: None, way=way)
    try:
        yield Outside(PublicContents(ask), clouds)
    finally:
        await clouds.close()


async def forecast(
    reader: Reader,
    settings: Settings,
    request: Request,
    now: float,
    outside: Outside | None = None,
    render: Render | None = None,
) -> tuple[list[Entry], dict[str, Cause]]:
    """The steps and their costs, and the objects that would not be ready after them, each with its cause.

    render  renders a chart to manifests; without it, restarts of pods are not known
    """
    from stackwright.cli.change.costs import costs
    from stackwright.cli.change.plan_render import CUT_OFF, FAIL, NOTE, Entry, entries
    from stackwright.simulate import simulate

    result = await simulate(reader, settings, request, now, outside)
    found = entries(result.steps, await _background(result, settings, request.namespace))
    for cloud, why in result.unheard.items():
        assumed = "the plan assumes that all recorded resources exist"
        found.insert(0, Entry(NOTE, "ask", f"{cloud} cannot be queried from here: {why}", assumed))
    if not result.settled:
        found.append(Entry(FAIL, "fail", CUT_OFF))
    found += await costs(reader, result, request.namespace, render)
    return found, result.stuck


async def _background(result: Forecast, settings: Settings, namespace: str) -> Background:
    from stackwright.api.kinds import SECRET
    from stackwright.api.services.helmbundle import HelmBundle
    from stackwright.cli.change.plan_render import Background, Deployed
    from stackwright.cloud.registry import BY_KIND
    from stackwright.core.helm.records import SELECTOR, releases
    from stackwright.core.objects import key_of

    base, found = result.base, Background()
    records = releases(await base.list(SECRET, namespace, SELECTOR))
    found.secrets = {key_of(secret) for secret in await base.list(SECRET, namespace)}
    for bundle in await base.list(HelmBundle.KIND, namespace):
        for wanted in bundle["spec"]["releases"]:
            if record := records.get(wanted["name"]):
                known = record.state == "deployed" and _as_deployed(settings, bundle, wanted, record.digest)
                deployed = Deployed(wanted["chart"], wanted.get("values") or {}, known)
                found.releases[namespace, wanted["name"]] = deployed
            found.failures[namespace, wanted["name"]] = _failure(bundle, wanted["name"])
    for bundle in await result.world.list(HelmBundle.KIND, namespace):
        for ref in bundle["metadata"].get("ownerReferences") or ():
            if ref["kind"] in BY_KIND:
                kind, key = BY_KIND[ref["kind"]].KIND, (namespace, ref["name"])
                levels = [_overrides(await reader.get(kind, key)) for reader in (base, result.world)]
                found.services[key_of(bundle)] = (levels[0], levels[1])
    return found


def _failure(bundle: Any, release: str) -> str:
    """Why a release failed, if a user must act."""
    from stackwright.core.conditions import condition_type, find, is_blocked

    own, ready = find(bundle, condition_type(release)) or {}, find(bundle) or {}
    current = ready.get("observedGeneration") == bundle["metadata"].get("generation")
    blocked = [entry for entry in (own, ready) if is_blocked(entry)]
    return str(blocked[0].get("message", "")) if blocked and current and own.get("status") != "True" else ""


def _as_deployed(settings: Settings, bundle: Any, wanted: Any, digest: str) -> bool:
    """Whether the release has the values that its HelmBundle has now: by digest, or by the operator's status."""
    from stackwright.controllers.helmbundle.step import release_digest

    status = bundle.get("status") or {}
    said = (status.get("releaseStatuses") or {}).get(wanted["name"]) or {}
    current = status.get("observedGeneration") == bundle["metadata"].get("generation")
    return release_digest(settings, wanted) == digest or bool(current and said.get("success"))


def _overrides(service: Any) -> Any:
    return ((service or {}).get("spec") or {}).get("overrides") or ()
