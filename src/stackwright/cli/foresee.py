"""The forecast of a command: of manifests on its cluster, with the user's access to OpenStacks and to helm."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial

from stackwright.adapters.helm.command import HelmCli, chart_digests, privileged_charts
from stackwright.adapters.openstack.inventory import PublicContents
from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.cli.access import reachable_login, read_access
from stackwright.cli.cluster import CliError, the_cloud
from stackwright.cli.common import nothing
from stackwright.cli.manifests.load import MANAGER, Manifest
from stackwright.cloud.registry import CLOUD_KINDS, kind_of
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.openstack.access import Access
from stackwright.core.plan import Object
from stackwright.core.ports import Reader
from stackwright.core.settings import OPERATOR_NAMESPACE, PULLS, Settings, pulls
from stackwright.forecast.costs import Render
from stackwright.forecast.entries import Entry
from stackwright.forecast.plan import forecast
from stackwright.forecast.simulate import Cause, Outside, Request
from stackwright.local import tools
from stackwright.local.image import images
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
    tell: Callable[[str], None] = nothing,
) -> tuple[list[Entry], dict[str, Cause]]:
    """One forecast for each namespace that the manifests name: the steps, and the objects that would not become ready.

    resumed   as if no object were paused
    assuming  as if the credentials of all OpenStacks were valid
    tell      called with each part that the plan lacks
    """
    spaces = sorted({m.obj["metadata"]["namespace"] for m in manifests if m.kind.namespaced} or {namespace})
    found: list[Entry] = []
    stuck: dict[str, Cause] = {}
    known = await _settings(cluster)
    if not known.images:
        where = f"{OPERATOR_NAMESPACE}/{IMAGES}"
        tell(f"Note: ConfigMap {where} does not exist, so the plan shows image names instead of references.")
    upgraded = of_this_program(known.images, await asyncio.to_thread(images.titles))
    if others := sorted(name for name, reference in known.images.items() if upgraded[name] != reference):
        names = ", ".join(others)
        tell(f"Note: the operator has other images than this program ({names}); the plan includes its upgrade.")
    known = replace(known, images=upgraded)
    if known.unreadable:
        names = ", ".join(f"{OPERATOR_NAMESPACE}/{name}" for name in sorted(known.unreadable))
        tell(f"Note: you may not read {names}, so the plan does not show whether copies of these Secrets change.")
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


async def _settings(reader: Reader) -> Settings:
    """The operator's settings: its references of images, and the charts of this program."""
    configmap = await reader.get(CONFIGMAP, (OPERATOR_NAMESPACE, IMAGES))
    how = pulls(((configmap or {}).get("data") or {}).get(PULLS) or "")
    unreadable = frozenset([name for name in how["pull_secrets"] if not await _may_read(reader, name)])
    charts = chart_digests(), privileged_charts()
    return Settings(_images(configmap), *charts, namespace=OPERATOR_NAMESPACE, unreadable=unreadable, **how)


async def _may_read(reader: Reader, secret: str) -> bool:
    try:
        await reader.get(SECRET, (OPERATOR_NAMESPACE, secret))
    except TerminalError:
        return False
    return True


def _images(configmap: Object | None) -> dict[str, str]:
    """Image references from the operator's ConfigMap."""
    text = ((configmap or {}).get("data") or {}).get("images.json")
    found: dict[str, str] = json.loads(text) if text else {}
    return found


def of_this_program(references: Mapping[str, str], titles: Mapping[str, str]) -> dict[str, str]:
    """The references after an upgrade of the operator to this program: of `titles`, in the registries of today.

    titles  image → name and tag. References of another form are choices of the operator's owner, and remain. New images
            get the only prefix of the others, if there is one. Pure.
    """
    prefixes = {
        name: reference.removesuffix(found[0])
        for name, reference in references.items()
        if name in titles and (found := re.search(rf"(?<=/){re.escape(name)}:[0-9a-f]{{12}}$", reference))
    }
    new = titles.keys() - references.keys() if len(set(prefixes.values())) == 1 else set()
    prefixes |= dict.fromkeys(new, next(iter(prefixes.values()), ""))
    return {**references, **{name: prefix + titles[name] for name, prefix in prefixes.items()}}


@asynccontextmanager
async def outside(reader: Reader, namespace: str) -> AsyncIterator[Outside]:
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
