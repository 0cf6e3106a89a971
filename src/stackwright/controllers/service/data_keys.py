"""Keys of data in a database, which live as long as the database. Pure.

The owner of such a Secret, MariaDB, has an annotation for each key that was made for its data. It is deleted with the
data, and outlives the service and its contracts.
"""

from __future__ import annotations

from stackwright.api.meta import OURS, Kind
from stackwright.controllers.service.observe import Observed
from stackwright.core.conditions import Condition, blocked
from stackwright.core.objects import annotation, is_deleting
from stackwright.core.plan import Apply, Object
from stackwright.services.context import Context
from stackwright.services.declaration import Keys, Secret

STAGE = "DataKeys"
MARK = f"{OURS}/data-key."  # followed by the name of the Secret


def lost_keys(seen: Observed, context: Context) -> list[str]:
    """Names of Secrets whose keys are missing although they were made: a new key would not decrypt the data."""
    return [
        each.name
        for each, _ in seen.declared.data_keys(context)
        if annotation(seen.owners.get(each.name), f"{MARK}{each.name}")
        and not _is_complete(each, seen.secrets.get(each.name))
    ]


def _is_complete(wanted: Secret | Keys, secret: Object | None) -> bool:
    found = ((secret or {}).get("data") or {}).keys()
    return set(wanted.generated) <= found if isinstance(wanted, Secret) else bool(found)


def marks(seen: Observed, context: Context) -> list[Apply]:
    """Applies of the annotations, for after the Secrets are written. Each repeats all those of this service, because an
    apply removes what it does not repeat.
    """
    wanted: dict[tuple[Kind, str], dict[str, str]] = {}
    for each, owner in seen.declared.data_keys(context):
        wanted.setdefault(owner, {})[f"{MARK}{each.name}"] = seen.declared.name
    found = []
    for (kind, _), notes in wanted.items():
        name = next(iter(notes)).removeprefix(MARK)
        live = seen.owners.get(name)
        if live is None or is_deleting(live) or all(annotation(live, note) for note in notes):
            continue
        meta = {**{part: live["metadata"][part] for part in ("name", "namespace", "uid")}, "annotations": notes}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
        found.append(Apply(kind, body, "its data need a key"))
    return found


def keys_stage(lost: list[str], context: Context) -> list[Condition]:
    """A stage that blocks while such keys are lost."""
    text = f"The key of data in the database is lost; restore Secret {context.namespace}/{', '.join(lost)}"
    return [blocked(STAGE, "KeyLost", text)] if lost else []
