"""The cost of a plan, as entries that follow its steps: lost and kept data, restarts, missing classes (`impact`).

The pods that an upgrade restarts are derived from the manifests in Helm's records, and those that this program's charts
render from the new values. Only `helm template` is run, without a cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

from stackwright.api.kinds import POD, PV, PVC, SECRET, STATEFULSET, STORAGE_CLASS
from stackwright.api.meta import Kind, Resource
from stackwright.api.services.contracts import DatabaseAccount
from stackwright.cloud.registry import CLOUD_KINDS, SERVICE_KINDS
from stackwright.core.bounds import DEEPEST
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.helm.records import SELECTOR, manifest, revisions
from stackwright.core.plan import HelmUpgrade, Key, Object
from stackwright.core.ports import Reader
from stackwright.forecast.entries import FAIL, RELEASE, Entry, Failure, Topic, notes
from stackwright.forecast.impact import Facts, Restart, kept, lost, missing, restarts
from stackwright.forecast.plaintext import plaintext_secrets
from stackwright.forecast.simulate import Forecast
from stackwright.forecast.untested import untested_values

Render = Callable[[HelmUpgrade], Awaitable[str]]


async def costs(reader: Reader, result: Forecast, namespace: str, render: Render | None) -> list[Entry]:
    """The entries. Objects that the user may not read are omitted, without an error."""
    if not result.steps:
        return []
    facts = await _facts(reader, namespace)
    records = revisions(await result.base.list(SECRET, namespace, SELECTOR))
    deployed = {(each.namespace, each.name): each.secret for each in records if each.state == "deployed"}
    upgrades = {step.action.release: step.action for step in result.steps if isinstance(step.action, HelmUpgrade)}
    # A chart of another repository would have to be downloaded.
    changed = {name: action for name, action in upgrades.items() if name in deployed and "/" not in action.chart}
    found, failed = dict[Key, tuple[Any, ...]](), list[Entry]()
    if render:
        answers = await asyncio.gather(
            *(_restarts(reader, deployed[release], action, render, facts.pods) for release, action in changed.items()),
            return_exceptions=True,
        )
        for release, answer in zip(changed, answers, strict=True):
            if isinstance(answer, TerminalError | TransientError):
                what = f"release {'/'.join(release)}"
                failed.append(Entry(FAIL, Failure.RENDERING, what, str(answer), subject=(RELEASE, *release)))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found[release] = answer
    known = {(each.namespace, each.name) for each in records}
    data = {Topic.LOST: lost(result.steps, facts), Topic.KEPT: kept(result.steps, facts)}
    effects = notes(data, found, missing(result.steps, known, facts))
    return [*failed, *effects, *await _warnings(result.world, namespace)]


async def _warnings(world: Reader, namespace: str) -> list[Entry]:
    """Untested values, and secrets as plain text, of the planned clouds or of services without a cloud."""

    async def listed(resources: Iterable[type[Resource]]) -> list[tuple[Kind, Object]]:
        kinds = [resource.KIND for resource in resources]
        return [(kind, obj) for kind in kinds for obj in await world.list(kind, namespace)]

    found = await listed(CLOUD_KINDS) or await listed(SERVICE_KINDS)
    return [*untested_values(found), *plaintext_secrets(found)]


async def _restarts(
    reader: Reader, secret: str, action: HelmUpgrade, render: Render, pods: Sequence[Object] = ()
) -> tuple[Restart, ...]:
    record, text = await asyncio.gather(reader.get(SECRET, (action.release[0], secret)), render(action))
    return restarts(objects(manifest(record)), objects(text) or (), pods)


def objects(text: str | None) -> list[Object] | None:
    """The objects of manifests in YAML; None if they are not valid manifests of Helm."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if text is None or not _plain(yaml.parse(text, loader)):
            return None
        return [each for each in yaml.load_all(text, loader) if isinstance(each, dict)]
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


def _plain(events: Iterable[Any]) -> bool:
    """Whether the text has no aliases, which may expand without limit, no tags, and only few levels."""
    depth = 0
    for event in events:
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEEPEST or isinstance(event, AliasEvent) or getattr(event, "tag", None):
            return False
    return True


async def _facts(reader: Reader, namespace: str) -> Facts:
    async def listed(kind: Kind) -> list[Object] | None:
        try:
            return await reader.list(kind, namespace if kind.namespaced else "")
        except (TerminalError, TransientError):
            return None

    claims, stateful, databases, pods, volumes, classes = await asyncio.gather(
        *(listed(kind) for kind in (PVC, STATEFULSET, DatabaseAccount.KIND, POD, PV, STORAGE_CLASS))
    )
    return Facts(claims or (), stateful or (), databases or (), pods or (), volumes, classes)
