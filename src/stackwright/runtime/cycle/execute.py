"""Executes the actions of a plan through the ports; no other module does.

Actions run in order and the first failure ends the execution; consecutive Helm upgrades and rollbacks run concurrently.
The cycle passes an action with a stage alone.
Every action is idempotent: after a crash the same plan is decided again, and completed actions change nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from stackwright.api.kinds import CONFIGMAP, PVC, SECRET
from stackwright.core.conditions import steady
from stackwright.core.errors import Conflict, StillMissing, TerminalError, TransientError, Unavailable
from stackwright.core.objects import DIGEST, FINALIZER, MUST_BE_TEXT, is_deleting, is_text, key_of, owned, secret_data
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import run
from stackwright.core.openstack.deployed import inventory
from stackwright.core.openstack.deployed.agents import bounded_uses
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import (
    Action,
    Apply,
    Delete,
    DeleteAgents,
    EnsureAccount,
    Finalizer,
    GrowClaim,
    HelmRollback,
    HelmUninstall,
    HelmUpgrade,
    Inventory,
    Key,
    MakeDirectory,
    Publish,
    RemoveDirectory,
    SetLabel,
    SetStatus,
    Warn,
)
from stackwright.core.ports import Ports
from stackwright.core.secrets.writes import SecretWrite
from stackwright.runtime.cycle import secrets


async def execute(actions: Iterable[Action], ports: Ports, manager: str) -> dict[ResourceKey, str]:
    """Run all actions; returns the ids of resources created in clouds. Raises the error of the first failed action."""
    made: dict[ResourceKey, str] = {}
    for group in _side_by_side(actions):
        ports.fence()
        if isinstance(call := group[0], CloudCall):
            made[call.resource_key] = await run(ports.clouds, call)
            continue
        if len(group) == 1:
            await _run(group[0], ports, manager)
            continue
        results = await asyncio.gather(*(_run(action, ports, manager) for action in group), return_exceptions=True)
        if errors := [result for result in results if isinstance(result, BaseException)]:
            raise errors[0]
    return made


def _side_by_side(actions: Iterable[Action]) -> Iterator[list[Action]]:
    for is_helm, group in groupby(actions, key=lambda action: isinstance(action, HelmUpgrade | HelmRollback)):
        members = list(group)
        yield from [members] if is_helm else [[member] for member in members]


async def _run(action: Action, ports: Ports, manager: str) -> None:
    match action:
        case Apply():
            await ports.cluster.apply(action.kind, action.obj, manager)
        case Delete():
            await ports.cluster.delete(action.kind, action.key)
        case Finalizer():
            await _finalizer(action, ports)
        case SetLabel():
            patch = {"metadata": {"labels": {action.label: action.value}}}
            await ports.cluster.patch(action.kind, action.key, patch)
        case GrowClaim():
            await _grow(action, ports)
        case SetStatus():
            identity = {name: action.obj["metadata"][name] for name in ("name", "namespace", "uid")}
            body = {"apiVersion": action.kind.api_version, "kind": action.kind.kind, "metadata": identity}
            await ports.cluster.apply_status(action.kind, {**body, "status": dict(action.status)}, manager)
        case Warn():
            await ports.cluster.event(action.obj, action.reason, action.message, True)
        case _ if isinstance(action, SecretWrite):
            await secrets.write(action, ports, manager)
        case _:
            await _external(action, ports, manager)


async def _external(action: Action, ports: Ports, manager: str) -> None:
    match action:
        case HelmUpgrade():
            await ports.helm.upgrade(action)
        case HelmRollback():
            await ports.helm.rollback(action.release, action.revision, action.manifest)
        case HelmUninstall():
            await ports.helm.uninstall(action.release)
        case EnsureAccount():
            await _account(action, ports)
        case Inventory():
            await _inventory(action, ports, manager)
        case DeleteAgents():
            await _forget(action, ports, manager)
        case Publish():
            await _publish(action, ports, manager)
        case MakeDirectory():
            await ports.directories.make(action.path)
        case RemoveDirectory():
            await ports.directories.remove(action.path)
        case _:
            raise TypeError(f"no executor for {action}")


async def _finalizer(action: Finalizer, ports: Ports) -> None:
    """Set or remove the finalizer, with the resource version as precondition, so that no other finalizer is lost."""
    current = await ports.cluster.get(action.kind, key_of(action.obj))
    if current is None or current["metadata"].get("uid") != action.obj["metadata"].get("uid"):
        if action.present:  # later actions would create resources that this object can no longer clean up
            raise Conflict(f"{action}: the object does not exist", action.kind, key_of(action.obj))
        return
    current_finalizers = current["metadata"].get("finalizers") or []
    annotations = current["metadata"].get("annotations") or {}
    if (FINALIZER in current_finalizers) == action.present and action.note.items() <= annotations.items():
        return
    if action.present and is_deleting(current):
        raise Conflict(f"{action}: the object is being deleted", action.kind, key_of(action.obj))
    others = [name for name in current_finalizers if name != FINALIZER]
    patch = {
        "metadata": {
            "finalizers": [*others, FINALIZER] if action.present else others,
            "resourceVersion": current["metadata"]["resourceVersion"],
            **({"annotations": dict(action.note)} if action.note else {}),
        }
    }
    await ports.cluster.patch(action.kind, key_of(action.obj), patch)


async def _grow(action: GrowClaim, ports: Ports) -> None:
    patch = {"spec": {"resources": {"requests": {"storage": action.size}}}}
    try:
        await ports.cluster.patch(PVC, key_of(action.claim), patch)
    except TerminalError as error:  # e.g. a quota
        await ports.cluster.event(action.claim, "CannotGrow", steady(str(error)), True)


async def _inventory(action: Inventory, ports: Ports, manager: str) -> None:
    held = await ports.contents.held(action, await _admin(action.admin_secret, ports))
    await _note_result(action, held, ports, manager)


async def _forget(action: DeleteAgents, ports: Ports, manager: str) -> None:
    await _note_result(action.look, bounded_uses(await _uses(action, ports)), ports, manager)


async def _note_result(look: Inventory, held: dict[str, list[str]], ports: Ports, manager: str) -> None:
    """Store a result with the time of its end, because it is valid for a limited time."""
    now = math.floor(ports.clock.now())
    before = await ports.cluster.get(CONFIGMAP, look.key)
    await _note(look, str(now), inventory.result(held, before, now), ports, manager)


async def _uses(action: DeleteAgents, ports: Ports) -> dict[str, list[str]]:
    """Agent → its uses, or the error; empty for a deleted agent."""
    uses: dict[str, list[str]] = {}
    if not action.agents:
        return uses
    try:
        admin = await _admin(action.look.admin_secret, ports)
        found = await ports.contents.held(action.look, admin)
        uses = {name: found[name] for name in action.agents if found[name]}
        unused = tuple(name for name in action.agents if not found[name])
        failed = await ports.agents.forget(replace(action, agents=unused), admin) if unused else {}
    except Unavailable:  # the result cannot be written either
        raise
    except (TransientError, TerminalError) as error:
        failed = {name: str(error) for name in action.agents if name not in uses}
    return {name: [steady(failed[name])] if name in failed else uses.get(name, []) for name in action.agents}


async def _publish(action: Publish, ports: Ports, manager: str) -> None:
    given = secret_data(await ports.cluster.get(SECRET, action.source))
    data = {name: given[name].strip() for name in action.fields if name in given}
    await _note(action, action.digest, data, ports, manager)


async def _note(action: Inventory | Publish, digest: str, data: dict[str, str], ports: Ports, manager: str) -> None:
    """Store the result of an action in a ConfigMap, for the next decision."""
    obj = owned(CONFIGMAP, action.key, action.owner, {})
    del obj["spec"]
    obj["metadata"]["annotations"] = {DIGEST: digest}
    await ports.cluster.apply(CONFIGMAP, {**obj, "data": data}, manager)


async def _admin(key: Key, ports: Ports) -> dict[str, Any]:
    admin = secret_data(await ports.cluster.get(SECRET, key))
    if not admin.get("password"):
        raise TransientError(f"Waiting for Secret {'/'.join(key)} with the administrator's password")
    return {name: _text(name, value, key) for name, value in admin.items()}


def _text(field: str, value: str, secret: Key) -> str:
    if not is_text(value):
        raise TerminalError(f"field {field} of Secret {'/'.join(secret)}: {MUST_BE_TEXT}")
    return value


async def _account(action: EnsureAccount, ports: Ports) -> None:
    """Create an account and verify that it exists, or delete it."""
    provider = ports.provider(action)
    admin, own = await _admin(action.admin_secret, ports), await _own(action, ports)
    await provider.account(action, admin, own)
    if not action.absent and (lack := await provider.missing(action, admin, own)):
        raise StillMissing(f"{lack} is missing although it was created before: {action.target}")


async def _own(action: EnsureAccount, ports: Ports) -> dict[str, str]:
    """The passwords of the account; none for a deletion, which does not need them."""
    if action.absent:
        return {}
    found = secret_data(await ports.cluster.get(SECRET, action.secret))
    if not all(map(found.get, action.passwords)):
        raise TransientError(f"Waiting for Secret {'/'.join(action.secret)}")
    return {name: _text(name, found[name], action.secret) for name in action.passwords}
