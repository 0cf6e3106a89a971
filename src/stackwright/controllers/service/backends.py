"""A back end that is to be given up: what users have in it, and whether they said that it may be lost. Pure.

Without its back end an image cannot be read and a volume cannot be opened, though the service still lists them. So
nothing is changed before it is known that there are none, or that somebody wants it so.
"""

from __future__ import annotations

import json

from stackwright.controllers.service.observe import Observed, inventory_name
from stackwright.core.conditions import Condition, blocked, done, waiting
from stackwright.core.digest import digest
from stackwright.core.objects import CLOUD, DIGEST, ORPHAN, annotation, label
from stackwright.core.plan import Action, Inventory
from stackwright.services.declaration import Context
from stackwright.services.keystone import ADMIN_SECRET

STAGE = "Backends"
LOOK = 30.0  # seconds until it is looked again
SHOWN = 5


def given_up(seen: Observed, context: Context) -> tuple[list[Action], Condition | None]:
    """The look into back ends that would go, and the stage; None when none goes."""
    if seen.declared.backends is None:
        return [], None
    used = (seen.obj.get("status") or {}).get("backends") or []
    wanted = seen.declared.backends(context.settings)
    gone = tuple(name for name in used if name not in wanted and name not in context.spec.orphan)
    if not gone:
        return [], None
    made = digest(gone, int(seen.now // LOOK))
    look: list[Action] = []
    if annotation(seen.inventory, DIGEST) != made:
        key = (context.namespace, inventory_name(context.name))
        admin = (context.namespace, ADMIN_SECRET)
        look.append(Inventory(key, seen.obj, seen.declared.service, gone, admin, made))
    held = json.loads(((seen.inventory or {}).get("data") or {}).get("held.json") or "{}")
    if set(held) != set(gone):
        what = f"{seen.declared.kind.kind} {', '.join(gone)}"
        return look, waiting(STAGE, f"Looking for what is in {what}", "Applying")
    if not any(held.values()):
        # What was found a while ago may not be so any more: nothing is given up before the look is of now.
        return look, waiting(STAGE, "Looking once more", "Applying") if look else done(STAGE)
    full = {name: things for name, things in held.items() if things}
    return look, blocked(STAGE, "WouldOrphan", _text(seen, context, full))


def _text(seen: Observed, context: Context, full: dict[str, list[str]]) -> str:
    parts = [f"{name} holds {_some(things)}" for name, things in full.items()]
    allowed = ",".join(f"{context.name}/{name}" for name in full)
    cloud = label(seen.obj, CLOUD)
    how = (
        f"annotate OpenStackDeployment {context.namespace}/{cloud} with {ORPHAN}={allowed}"
        if cloud
        else f"name it in spec.orphan of {seen.declared.kind.kind} {context.namespace}/{context.name}"
    )
    return f"{'; '.join(parts)}, which nobody could read any more. Keep the back end, move or delete them, or {how}"


def _some(things: list[str]) -> str:
    more = f" and {len(things) - SHOWN} more" if len(things) > SHOWN else ""
    return f"{len(things)} ({', '.join(sorted(things)[:SHOWN])}{more})"
