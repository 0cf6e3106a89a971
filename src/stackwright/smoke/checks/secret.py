"""A stored secret and a generated key: the API, its store, the workers and the bus work together."""

from __future__ import annotations

import secrets

from stackwright.smoke.ports import Failed
from stackwright.smoke.stage import Stage

LIMIT = 15


def secret(stage: Stage) -> str:
    api = stage.user.key_manager
    text = secrets.token_hex(16)
    stored = api.store(stage.name, text)
    if api.payload(stored) != text:
        raise Failed("The secret that is read is not the one that was stored")
    order = api.order(stage.name)
    stage.until("The key is generated", lambda: _unless_active(stage, order), LIMIT)
    for each in (stored, api.ordered(order).secret):
        api.delete(each)
    api.forget(order)
    return ""


def _unless_active(stage: Stage, id_: str) -> str | None:
    """The cause of the wait for a key, or None. Raises Failed."""
    found = stage.user.key_manager.ordered(id_)
    if found.status == "ERROR":
        raise Failed("The order of a key failed; the log of barbican-worker has the cause")
    return None if found.secret else f"the order is {found.status}"
