"""Keys of data in a database, which live as long as the database. Pure."""

from __future__ import annotations

from stackwright.api.services.contracts import DatabaseAccount
from stackwright.controllers.service.observe import Observed
from stackwright.core.conditions import Condition, blocked
from stackwright.services.context import Context


def lost_keys(seen: Observed, context: Context) -> list[str]:
    """Names of missing Secrets with keys of data in a database that exists; a new key would not decrypt the data."""
    made = {
        str(status.get("providerUid") or "")
        for (kind, _), contract in seen.contracts.items()
        if kind == DatabaseAccount.KIND.kind and (status := contract.get("status") or {}).get("digest")
    }
    return [
        name
        for name in seen.declared.outliving(context)
        if seen.secrets.get(name) is None
        if (owner := seen.owners.get(name)) and owner["metadata"].get("uid") in made
    ]


def keys_stage(lost: list[str], context: Context) -> list[Condition]:
    """A stage that blocks while such keys are lost."""
    text = f"The key of data in the database is lost; restore Secret {context.namespace}/{', '.join(lost)}"
    return [blocked("Settings", "KeyLost", text)] if lost else []
