"""Plan → calls. The only place where an action meets the outside world.

Actions run in order and the first failure ends the run; Helm upgrades that follow each other run side by side. Every
action may be repeated: after a crash the same plan is decided again, and what was done before changes nothing.
"""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from stackwright.api.kinds import SECRET
from stackwright.core import fernet
from stackwright.core.objects import (
    DIGEST,
    FINALIZER,
    MANAGED,
    OWNER,
    is_deleting,
    key_of,
    owner_label,
    owner_reference,
)
from stackwright.core.plan import (
    Action,
    Apply,
    BrokerAccount,
    CatalogEntry,
    CopySecret,
    Delete,
    EnsureSecret,
    Finalizer,
    HelmRollback,
    HelmUninstall,
    HelmUpgrade,
    Key,
    MakeDirectory,
    Object,
    RemoveDirectory,
    RotateKeys,
    SetLabel,
    SqlAccount,
    Warn,
)
from stackwright.core.ports import Conflict, NotYet, Ports, secret_data


async def execute(actions: Iterable[Action], ports: Ports, manager: str) -> None:
    """Run all actions. Raises NotYet, Refused or Conflict of the first that fails."""
    for group in _side_by_side(actions):
        if len(group) == 1:
            await _run(group[0], ports, manager)
            continue
        results = await asyncio.gather(*(_run(action, ports, manager) for action in group), return_exceptions=True)
        if errors := [result for result in results if isinstance(result, BaseException)]:
            raise errors[0]


def _side_by_side(actions: Iterable[Action]) -> Iterator[list[Action]]:
    for is_helm, group in groupby(actions, key=lambda action: isinstance(action, HelmUpgrade)):
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
        case Warn():
            await ports.cluster.event(action.obj, action.reason, action.message, True)
        case EnsureSecret():
            await _ensure_secret(action, ports, manager)
        case RotateKeys():
            await _rotate(action, ports, manager)
        case CopySecret():
            await _copy(action, ports, manager)
        case _:
            await _foreign(action, ports)


async def _foreign(action: Action, ports: Ports) -> None:
    match action:
        case HelmUpgrade():
            await ports.helm.upgrade(action)
        case HelmRollback():
            await ports.helm.rollback(action.release, action.revision)
        case HelmUninstall():
            await ports.helm.uninstall(action.release)
        case SqlAccount():
            await ports.sql.account(action, await _admin(action.admin_secret, ports), await _password(action, ports))
        case BrokerAccount():
            await ports.broker.account(action, await _admin(action.admin_secret, ports), await _password(action, ports))
        case CatalogEntry():
            await ports.identity.entry(action, await _admin(action.admin_secret, ports), await _password(action, ports))
        case MakeDirectory():
            await ports.directories.make(action.path)
        case RemoveDirectory():
            await ports.directories.remove(action.path)
        case _:
            raise TypeError(f"no way to execute {action}")


async def _finalizer(action: Finalizer, ports: Ports) -> None:
    """Guarded by the resource version: between our look and this write nobody else's finalizer gets lost."""
    current = await ports.cluster.get(action.kind, key_of(action.obj))
    if current is None or current["metadata"].get("uid") != action.obj["metadata"].get("uid"):
        if action.present:  # what follows would be made for an object that can no longer clean it up
            raise Conflict(f"{action}: the object is gone")
        return
    current_finalizers = current["metadata"].get("finalizers") or []
    if (FINALIZER in current_finalizers) == action.present:
        return
    if action.present and is_deleting(current):
        raise Conflict(f"{action}: the object is being deleted")
    others = [name for name in current_finalizers if name != FINALIZER]
    patch = {
        "metadata": {
            "finalizers": [*others, FINALIZER] if action.present else others,
            "resourceVersion": current["metadata"]["resourceVersion"],
        }
    }
    await ports.cluster.patch(action.kind, key_of(action.obj), patch)


async def _ensure_secret(action: EnsureSecret, ports: Ports, manager: str) -> None:
    """What is there stays: a password is made once, and one that a user put there first is taken over."""
    old = secret_data(await ports.cluster.get(SECRET, action.key))
    fields = dict(action.fixed)
    for name in action.generated:
        fields[name] = old.get(name) or ports.entropy.password()
    data = {**fields, **{name: text.format(**fields) for name, text in action.templates.items()}}
    obj = _secret(action.key, action.owner, data, {DIGEST: action.digest}, dict(action.labels))
    await ports.cluster.apply(SECRET, obj, manager)


async def _rotate(action: RotateKeys, ports: Ports, manager: str) -> None:
    old = secret_data(await ports.cluster.get(SECRET, action.key))
    fresh = ports.entropy.fernet_key
    keys = fernet.rotate(old, fresh(), action.max_active) if old else fernet.start(fresh(), fresh())
    obj = _secret(action.key, action.owner, keys, {fernet.ROTATED: str(math.ceil(ports.clock.now()))})
    await ports.cluster.apply(SECRET, obj, manager)


async def _copy(action: CopySecret, ports: Ports, manager: str) -> None:
    """An oslo.config snippet of options whose values are in other Secrets."""
    lines = []
    for section in sorted(action.sections):
        lines.append(f"[{section}]")
        for option, (name, key) in sorted(action.sections[section].items()):
            value = secret_data(await ports.cluster.get(SECRET, (action.key[0], name))).get(key)
            if value is None:
                raise NotYet(f"Waiting for key {key} of Secret {action.key[0]}/{name}")
            lines.append(f"{option} = {value}")
    data = {action.field: "\n".join(lines) + "\n"}
    await ports.cluster.apply(SECRET, _secret(action.key, action.owner, data, {DIGEST: action.digest}), manager)


def _secret(
    key: Key, owner: Object, data: dict[str, str], annotations: dict[str, str], labels: dict[str, str] | None = None
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "namespace": key[0],
            "name": key[1],
            "labels": {**MANAGED, OWNER: owner_label(owner), **(labels or {})},
            "annotations": annotations,
            "ownerReferences": [owner_reference(owner)],
        },
        "type": "Opaque",
        "data": {name: base64.b64encode(value.encode()).decode() for name, value in data.items()},
    }


async def _admin(key: Key, ports: Ports) -> dict[str, Any]:
    admin = secret_data(await ports.cluster.get(SECRET, key))
    if not admin.get("password"):
        raise NotYet(f"Waiting for Secret {'/'.join(key)} with the administrator's password")
    return dict(admin)


async def _password(action: SqlAccount | BrokerAccount | CatalogEntry, ports: Ports) -> str:
    """That of the account; whoever takes one away needs none."""
    password = secret_data(await ports.cluster.get(SECRET, action.secret)).get("password", "")
    if not password and not action.absent:
        raise NotYet(f"Waiting for Secret {'/'.join(action.secret)}")
    return password
