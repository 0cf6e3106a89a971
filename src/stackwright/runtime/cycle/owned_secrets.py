"""The object of a Secret that the operator writes, and whether it may write it."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from stackwright.api.kinds import SECRET
from stackwright.core.errors import TerminalError
from stackwright.core.objects import MANAGED, MUST_BE_TEXT, OWNER, is_text, owner_label, owners
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Ports
from stackwright.core.secrets.writes import SecretOwner


async def permitted(key: Key, owner: SecretOwner | None, ports: Ports) -> None:
    """Raises TerminalError if the Secret has another owner.

    Users choose names of Secrets, and could otherwise read, change and delete the content of Secrets of other owners.
    """
    found = await ports.cluster.get(SECRET, key)
    if found and (others := owners(found) - owners(written(key, owner, {}, {}))):
        raise TerminalError(f"Secret {'/'.join(key)} belongs to {', '.join(sorted(others))}; choose another name")


def written(
    key: Key,
    owner: SecretOwner | None,
    data: Mapping[str, str],
    notes: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> Object:
    """The label names the owner, and the owner reference the object with which the Secret is deleted."""
    if wrong := [name for name, value in data.items() if not is_text(value)]:
        raise TerminalError(f"field {', '.join(wrong)} of Secret {'/'.join(key)}: {MUST_BE_TEXT}")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "namespace": key[0],
            "name": key[1],
            "labels": {**MANAGED, **({OWNER: owner_label(owner.obj)} if owner else {}), **(labels or {})},
            "annotations": dict(notes),
            **({"ownerReferences": [owner.reference]} if owner else {}),
        },
        "type": "Opaque",
        "data": {name: base64.b64encode(value.encode()).decode() for name, value in data.items()},
    }
