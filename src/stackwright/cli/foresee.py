"""The forecast of a command: of manifests on its cluster, with the user's access to OpenStacks and to helm."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial

from stackwright.adapters.helm.command import HelmCli, chart_digests, privileged_charts
from stackwright.adapters.openstack.deployed.inventory import PublicContents
from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.cli.cluster.connection import the_cloud
from stackwright.cli.common import no_output
from stackwright.cli.failures import CliError
from stackwright.cli.manifests.load import MANAGER, Manifest
from stackwright.cli.state.access import reachable_login, read_access
from stackwright.cloud.registry import CLOUD_KINDS, kind_of
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.openstack.deployed.access import Access
from stackwright.core.plan import Object
from stackwright.core.ports import Reader
from stackwright.core.settings import OPERATOR_NAMESPACE, PULLS, Settings, pulls
from stackwright.forecast.costs import Render
from stackwright.forecast.entries import Entry
from stackwright.forecast.plan import forecast
from stackwright.forecast.simulate import Cause, Outside, Request
from stackwright.local import tools
from stackwright.local.image import images, recipes
from stackwright.runtime.memory import MemoryCluster

IMAGES = "stackwright-images"  # the ConfigMap with the operator's images


async def foresee(
    cluster: Reader,
    manifests: list[Manifest],
    namespace: str,
    delete: str | None = None,
    *,
    resumed: bool = False,
    assuming: bool = False,
    tell: Callable[[str], None] = no_output,
) -> tuple[list[Entry], dict[str, Cause]]:
    """One forecast for each namespace that the manifests name: the steps, and the objects that would not become ready.

    resumed   as if no object were paused
    assuming  as if the credentials of all OpenStacks were valid
    tell      called with each part that the plan lacks
    """
    spaces = sorted({m.obj["metadata"]["namespace"] for m in manifests if m.kind.namespaced} or {namespace})
    found: list[Entry] = []
    stuck: dict[str, Cause] = {}
    known = await _settings(cluster, tell)
    if not known.images:
        where = f"{OPERATOR_NAMESPACE}/{IMAGES}"
        tell(f"Note: ConfigMap {where} does not exist, so the plan shows image names instead of references.")
    if known.unreadable:
        names = ", ".join(f"{OPERATOR_NAMESPACE}/{name}" for name in sorted(known.unreadable))
        tell(f"Note: you may not read {names}, so the plan does not show whether copies of these Secrets change.")
    written = await _with_secrets(cluster, manifests)
    for space in spaces:
        asked = replace(await _request(cluster, space, manifests, delete), resumed=resumed, assuming=assuming)
        async with external_systems(written, space) as asking:
            with rendering(tell) as render:
                more, problems = await forecast(cluster, known, asked, time.time(), asking, render)
        # A namespace of several forecasts is shown once.
        found += [entry for entry in more if entry.subject[0] != "Namespace" or entry not in found]
        stuck |= problems
    return found, stuck


async def _with_secrets(cluster: Reader, manifests: list[Manifest]) -> Reader:
    """The existing cluster with the manifests' Secrets: credentials of a cloud may be in the same file."""
    written = MemoryCluster(cluster)
    for each in manifests:
        if each.kind == SECRET:
            await written.apply(SECRET, each.obj, MANAGER)
    return written


async def _request(reader: Reader, namespace: str, manifests: list[Manifest], delete: str | None) -> Request:
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


async def _settings(reader: Reader, tell: Callable[[str], None]) -> Settings:
    """The operator's settings after an upgrade to this program: its charts and images, in the operator's registry."""
    configmap = await reader.get(CONFIGMAP, (OPERATOR_NAMESPACE, IMAGES))
    how = pulls(((configmap or {}).get("data") or {}).get(PULLS) or "")
    unreadable = frozenset([name for name in how["pull_secrets"] if not await _may_read(reader, name)])
    charts = chart_digests(), privileged_charts()
    return Settings(await _images(configmap, tell), *charts, namespace=OPERATOR_NAMESPACE, unreadable=unreadable, **how)


async def _may_read(reader: Reader, secret: str) -> bool:
    try:
        await reader.get(SECRET, (OPERATOR_NAMESPACE, secret))
    except TerminalError:
        return False
    return True


async def _images(configmap: Object | None, tell: Callable[[str], None]) -> dict[str, str]:
    """References of this program's images, or of the operator's if this installation has no recipes."""
    text = ((configmap or {}).get("data") or {}).get("images.json")
    if not text:
        return {}
    references: dict[str, str] = json.loads(text)
    try:
        titles = await asyncio.to_thread(images.titles)
    except FileNotFoundError:  # in the image of the operator
        tell("Note: this installation has no recipes of images, so the plan assumes the images of the operator.")
        return references
    found = recipes.upgraded(references, titles)
    if others := ", ".join(sorted(name for name, reference in references.items() if found[name] != reference)):
        tell(f"Note: the plan assumes the images of this program; the operator has others: {others}.")
    return found


@asynccontextmanager
async def external_systems(reader: Reader, namespace: str) -> AsyncIterator[Outside]:
    """Access to the contents of the cloud by its public endpoints, and to the OpenStacks of servers."""

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


@contextmanager
def rendering(
    tell: Callable[[str], None], lacks: str = "the plan does not list the pods that restart"
) -> Iterator[Render | None]:
    """A renderer that uses the helm of the local cluster's tools or of this machine; None without helm.

    lacks  text for the user: the part that is missing without helm
    """
    built = tools.binary("helm")
    program = str(built) if built.is_file() else shutil.which("helm")
    if program is None:
        tell(f"Note: the program helm was not found, so {lacks}.")
        yield None
        return
    helm = HelmCli(binary=program)
    try:
        yield lambda action: helm.render(action.chart, action.values, action.release, action.version)
    finally:
        helm.close()
