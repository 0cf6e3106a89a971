"""(cloud, kept revisions) → Plan: keep a new spec and delete the oldest revisions. Pure."""

from __future__ import annotations

from stackwright.api.kinds import SECRET
from stackwright.controllers.revision.observe import Observed
from stackwright.core.digest import digest
from stackwright.core.objects import is_deleting, key_of
from stackwright.core.plan import Action, Delete, Plan
from stackwright.core.secrets import revisions
from stackwright.core.secrets.writes import KeepRevision

KEPT_REVISIONS = 10  # of each cloud


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()
    newest = seen.kept[-1] if seen.kept else None
    current = digest(seen.obj.get("spec") or {})
    actions: list[Action] = []
    if newest is None or newest.digest != current:
        number = newest.number + 1 if newest else 1
        key = (key_of(seen.obj)[0], revisions.name(seen.obj, number))
        actions.append(KeepRevision(key, seen.obj, number, current))
    surplus = len(seen.kept) + len(actions) - KEPT_REVISIONS
    old = seen.kept[: max(surplus, 0)]
    return Plan((*actions, *(Delete(SECRET, each.key, "an old revision") for each in old)))
