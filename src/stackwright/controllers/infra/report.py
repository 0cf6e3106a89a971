"""The report of the kinds with resources in an OpenStack. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stackwright.core.conditions import Condition
from stackwright.core.plan import Action, Plan, staged


def keeping_fields(
    before: Mapping[str, Any],
    fields: Mapping[str, Any],
    stages: Sequence[Condition],
    actions: tuple[Action, ...] = (),
    requeue: float | None = None,
    **status: Any,
) -> Plan:
    """The stages, and `fields` of the status: those that are not passed keep their values, or get their defaults."""
    kept = {name: before.get(name, default) for name, default in fields.items()}
    return staged(stages, {**kept, **status}, actions, requeue)
