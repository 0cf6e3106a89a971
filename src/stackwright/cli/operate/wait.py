"""`stackwright wait`: until a cloud or another object is ready or gone, with each cause that was waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common, completion
from stackwright.cli.change.crds import Data
from stackwright.cli.cluster import NAMESPACE, OPERATOR_NAMESPACE, KubeconfigOption, NamespaceOption
from stackwright.cli.common import nothing, say

if TYPE_CHECKING:
    from stackwright.api.meta import Resource
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

    Kinds = Sequence[type[Resource]]

EVERY = 1.0
BLOCKED = 10.0  # seconds: what made it so may be mended, and the operator has not looked yet


class Goal(StrEnum):
    READY = "ready"
    DELETED = "deleted"


@dataclass(frozen=True)
class Patience:
    goal: Goal = Goal.READY
    timeout: float = 600.0
    keep_waiting: bool = False
    every: float = EVERY
    blocked: float = BLOCKED


def wait(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|KIND/NAME]",
            help="A cloud, the first by name if not given; or an object of another kind.",
            autocompletion=completion.clouds,
        ),
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    goal: Annotated[Goal, typer.Option("--for", help="What to wait for.")] = Goal.READY,
    timeout: Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait at most.")] = 600,
    keep_waiting: Annotated[
        bool, typer.Option("--keep-waiting", help="Wait on, even when somebody must act first.")
    ] = False,
    output: Annotated[Data | None, typer.Option("--output", "-o", help="Print the object at the end.")] = None,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Wait until a cloud or another object is ready, telling what it waits for.

    A kind is written as for kubectl: openstackserver/web, keystone/keystone, hb/openstack-nova.

    Exit code 0 when it is; 1 after the time-out, or soon when somebody must act, with the causes.

    For example:

      stackwright wait

      stackwright wait cloud --for=deleted --timeout 120

      stackwright wait openstackserver/web -n demo

      stackwright wait -o json
    """
    from stackwright.cli.cluster import connected, run

    async def work() -> None:
        kinds, asked_name = asked(name)
        patience = Patience(goal, timeout, keep_waiting)
        async with connected(kubeconfig) as cluster:
            if output is None:
                await follow(cluster, namespace, asked_name, patience, kinds=kinds)
                return
            try:
                await follow(cluster, namespace, asked_name, patience, nothing, kinds)
            finally:
                await _print(await _first(cluster, namespace, asked_name, kinds, goal), output)

    run(work())


async def _print(obj: Object | None, output: Data) -> None:
    """The object as `status` shows it; null when it is not there."""
    from stackwright.cli.output import Format, dumped
    from stackwright.cli.show.resource_tree import described

    common.data(dumped(None if obj is None else described(obj), Format(output.value)))


def asked(text: str | None, verb: str = "wait for") -> tuple[Kinds, str | None]:
    """The kinds and the name that are meant by `NAME` or `KIND/NAME`. Raises CliError for a kind that is not known, or
    of which nobody can wait for anything, or pause it.
    """
    from stackwright.cli.cluster import CliError
    from stackwright.cloud.registry import CLOUD_KINDS, RESOURCES, STILL

    word, slash, name = (text or "").rpartition("/")
    if not slash:
        return CLOUD_KINDS, text
    if not word or not name:
        raise CliError(f"{text}: write KIND/NAME")
    for resource in RESOURCES:
        if word.lower() in (resource.KIND.kind.lower(), resource.KIND.plural, *resource.KIND.short):
            if resource in STILL:
                raise CliError(f"{resource.KIND.kind} has no condition Ready: there is nothing to {verb}")
            return (resource,), name
    known = ", ".join(resource.KIND.kind for resource in RESOURCES if resource not in STILL)
    raise CliError(f"{text}: unknown kind {word!r}; allowed: {known}")


async def follow(
    reader: Reader,
    namespace: str,
    name: str | None,
    patience: Patience,
    say: Callable[[str], None] = say,
    kinds: Kinds = (),
) -> None:
    """Return when the goal is reached. Raises CliError with the tree of causes when it is not.

    kinds  of the object; empty: those of clouds
    """
    from stackwright.cli.cluster import CliError

    started = sound = time.monotonic()
    told = ""
    cloud = await _first(reader, namespace, name, kinds, patience.goal)
    kind = kinds[0].KIND.kind if len(kinds) == 1 else "cloud"
    if cloud is None and patience.goal is Goal.READY:
        raise CliError(f"There is no {kind} {name or ''} in namespace {namespace}".replace("  ", " "))
    title = f"{cloud['kind']} {namespace}/{cloud['metadata']['name']}" if cloud else f"The {kind}"
    uid = cloud["metadata"].get("uid") if cloud else None
    while True:
        elapsed = time.monotonic() - started
        done, state, blocked = _look(cloud, uid, patience.goal)
        if state != told:
            say(f"{elapsed:5.0f}s {'✓' if done else '✗' if blocked else '…'} {title}{': ' if state else ''}{state}")
            told = state
        if done:
            return
        sound = sound if blocked else time.monotonic()
        if time.monotonic() - sound > patience.blocked and not patience.keep_waiting:
            raise CliError(f"{title} is blocked; somebody must act:\n{await causes(reader, namespace, cloud)}")
        if elapsed >= patience.timeout:
            what = "ready" if patience.goal is Goal.READY else "gone"
            raise CliError(f"{title} was not {what} after {elapsed:.0f} s:\n{await causes(reader, namespace, cloud)}")
        await asyncio.sleep(patience.every)
        cloud = await _again(reader, namespace, cloud)


async def _first(reader: Reader, namespace: str, name: str | None, kinds: Kinds, goal: Goal) -> Object | None:
    """None where there is none of that name. Raises CliError when a cloud of another name is there that could be meant;
    where one is to be gone, none of its name is what was asked for.
    """
    from stackwright.cli.cluster import the_cloud
    from stackwright.cloud.registry import CLOUD_KINDS

    if name is None or (len(kinds) != 1 and goal is Goal.READY):
        return await the_cloud(reader, namespace, name, kinds or CLOUD_KINDS)
    for kind in (resource.KIND for resource in kinds or CLOUD_KINDS):
        if found := await reader.get(kind, (namespace, name)):
            return {**found, "kind": kind.kind}
    return None


async def _again(reader: Reader, namespace: str, cloud: Object | None) -> Object | None:
    from stackwright.cloud.registry import kind_of
    from stackwright.core.ports import NotYet

    if cloud is None:
        return None
    try:
        found = await reader.get(kind_of(cloud["kind"]), (namespace, cloud["metadata"]["name"]))
        return {**found, "kind": cloud["kind"]} if found else None
    except NotYet:  # the API server may be away for a while; the time-out decides
        return cloud


def _look(cloud: Object | None, uid: str | None, goal: Goal) -> tuple[bool, str, bool]:
    """(goal reached, what to tell, blocked)"""
    from stackwright.core.conditions import find, is_blocked, is_ready, why_not_ready

    if cloud is None or cloud["metadata"].get("uid") != uid:
        return (True, "is gone", False) if goal is Goal.DELETED else (False, "it is gone", True)
    entry = find(cloud) or {}
    current = entry.get("observedGeneration") == cloud["metadata"].get("generation")
    blocked = current and is_blocked(entry)
    if goal is Goal.DELETED:
        deleting = cloud["metadata"].get("deletionTimestamp")
        return False, "is being deleted" if deleting else "nobody has deleted it yet", False
    if is_ready(cloud):
        return True, "is ready", False
    return False, why_not_ready(cloud) if current or not entry else "its last change was not looked at yet", blocked


async def causes(reader: Reader, namespace: str, obj: Object | None) -> str:
    """The tree of what is not ready; and that there is no operator, if there is none."""
    from stackwright.api.kinds import DEPLOYMENT
    from stackwright.cli.show.resource_tree import read, tree
    from stackwright.cli.ui.tree import lines, troubles

    bad = troubles(tree(await read(reader, namespace, time.time()), obj)) if obj else None
    text = lines(bad) if bad is not None else []
    if not await reader.list(DEPLOYMENT, OPERATOR_NAMESPACE, {"application": "stackwright"}):
        text.append(f"No operator runs in namespace {OPERATOR_NAMESPACE}; `stackwright up` installs it")
    return "\n".join(text)
