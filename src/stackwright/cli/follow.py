"""Follows an object until it is ready or deleted, for `wait`, and for commands that wait for their changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from stackwright.cli.common import say
from stackwright.core.settings import OPERATOR_NAMESPACE

if TYPE_CHECKING:
    from stackwright.cli.object_names import Kinds
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

EVERY = 1.0
BLOCKED = 10.0  # seconds: the cause may be repaired, but not processed by the operator yet


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


async def follow(
    reader: Reader,
    namespace: str,
    name: str | None,
    patience: Patience,
    say: Callable[[str], None] = say,
    kinds: Kinds = (),
) -> None:
    """Returns when the goal is reached. Raises CliError with the tree of causes if it is not.

    kinds  of the object; empty: the kinds of clouds
    """
    from stackwright.cli.failures import CliError
    from stackwright.core.conditions import find

    started = sound = time.monotonic()
    printed = ""
    cloud = await first(reader, namespace, name, kinds, patience.goal)
    kind = kinds[0].KIND.kind if len(kinds) == 1 else "cloud"
    if cloud is None and patience.goal is Goal.READY:
        raise CliError(f"No {kind} {name or ''} found in namespace {namespace}".replace("  ", " "))
    title = f"{cloud['kind']} {namespace}/{cloud['metadata']['name']}" if cloud else f"The {kind}"
    uid = cloud["metadata"].get("uid") if cloud else None
    untouched = cloud is not None and patience.goal is Goal.READY and not find(cloud)
    if untouched and not patience.keep_waiting and (why := await unmanaged_by(reader, namespace)):
        raise CliError(f"{title} will not become ready: {why}")
    while True:
        elapsed = time.monotonic() - started
        done, state, blocked = _look(cloud, uid, patience.goal)
        if state != printed:
            say(f"{elapsed:5.0f}s {'✓' if done else '✗' if blocked else '…'} {title}{': ' if state else ''}{state}")
            printed = state
        if done:
            return
        sound = sound if blocked else time.monotonic()
        if time.monotonic() - sound > patience.blocked and not patience.keep_waiting:
            raise CliError(f"{title} is blocked until a user acts:\n{await causes(reader, namespace, cloud)}")
        if elapsed >= patience.timeout:
            what = "ready" if patience.goal is Goal.READY else "deleted"
            raise CliError(f"{title} was not {what} after {elapsed:.0f} s:\n{await causes(reader, namespace, cloud)}")
        await asyncio.sleep(patience.every)
        cloud = await _again(reader, namespace, cloud)


async def first(reader: Reader, namespace: str, name: str | None, kinds: Kinds, goal: Goal) -> Object | None:
    """None if none of that name exists. Raises CliError if a cloud of another name exists, which could be meant;
    not for a deletion, where its absence is the goal.
    """
    from stackwright.cli.cluster.connection import the_cloud
    from stackwright.cloud.registry import CLOUD_KINDS

    if name is None or (len(kinds) != 1 and goal is Goal.READY):
        return await the_cloud(reader, namespace, name, kinds or CLOUD_KINDS)
    for kind in (resource.KIND for resource in kinds or CLOUD_KINDS):
        if found := await reader.get(kind, (namespace, name)):
            return {**found, "kind": kind.kind}
    return None


async def _again(reader: Reader, namespace: str, cloud: Object | None) -> Object | None:
    from stackwright.cloud.registry import kind_of
    from stackwright.core.errors import TransientError

    if cloud is None:
        return None
    try:
        found = await reader.get(kind_of(cloud["kind"]), (namespace, cloud["metadata"]["name"]))
        return {**found, "kind": cloud["kind"]} if found else None
    except TransientError:  # the API server may be unavailable briefly; the timeout decides
        return cloud


def _look(cloud: Object | None, uid: str | None, goal: Goal) -> tuple[bool, str, bool]:
    """(goal reached, message, blocked)"""
    from stackwright.core.conditions import find, is_blocked, is_ready, why_not_ready

    if cloud is None or cloud["metadata"].get("uid") != uid:
        return (True, "is deleted", False) if goal is Goal.DELETED else (False, "it was deleted", True)
    entry = find(cloud) or {}
    current = entry.get("observedGeneration") == cloud["metadata"].get("generation")
    blocked = current and is_blocked(entry)
    if goal is Goal.DELETED:
        deleting = cloud["metadata"].get("deletionTimestamp")
        return False, "is being deleted" if deleting else "its deletion is not requested yet", False
    if is_ready(cloud):
        return True, "is ready", False
    return (
        False,
        why_not_ready(cloud) if current or not entry else "the operator has not processed its last change yet",
        blocked,
    )


async def causes(reader: Reader, namespace: str, obj: Object | None) -> str:
    """The tree of objects that are not ready, and a line if no operator processes them."""
    from stackwright.cli.state.objects import read
    from stackwright.cli.ui.resource_tree import tree
    from stackwright.cli.ui.tree import lines, without_ready

    bad = without_ready(tree(await read(reader, namespace, time.time()), obj)) if obj else None
    text = lines(bad) if bad is not None else []
    operators = await operators_of(reader)
    if operators is not None:
        text.append(unattended(operators, namespace))
    return "\n".join(filter(None, text))


async def operators_of(reader: Reader) -> list[Object] | None:
    """The Deployments of the operator; None if the user may not list them."""
    from stackwright.api.kinds import DEPLOYMENT
    from stackwright.core.errors import TerminalError

    try:
        return await reader.list(DEPLOYMENT, OPERATOR_NAMESPACE, {"application": "stackwright"})
    except TerminalError:
        return None


def unattended(operators: list[Object], namespace: str) -> str:
    """Reason why no operator processes the objects of a namespace; empty if one does."""
    from stackwright.core.kubernetes.operator import REMEDY, unmanaged

    if not operators:
        return f"No operator runs in namespace {OPERATOR_NAMESPACE}; `stackwright up` installs it"
    why = unmanaged(operators, namespace)
    return f"{why} {REMEDY}" if why else ""


async def unmanaged_by(reader: Reader, namespace: str) -> str:
    """Reason why the installed operator ignores a namespace; empty if it does not, or if that is unknown."""
    operators = await operators_of(reader)
    return unattended(operators, namespace) if operators else ""
