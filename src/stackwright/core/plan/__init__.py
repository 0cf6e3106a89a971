"""A Plan: the actions and status that a controller decides on, as data.

The operator executes it, `stackwright plan` prints it, tests compare it. An action names everything it needs and
holds no secret: it references passwords by the Secret that contains them, and the executor generates them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackwright.core.conditions import Condition, summary
from stackwright.core.plan.accounts import EnsureAccount
from stackwright.core.plan.action import Action, Key, Object, apart
from stackwright.core.plan.objects import Apply, Delete, Finalizer, GrowClaim, SetLabel, SetStatus, Warn
from stackwright.core.plan.systems import (
    DeleteAgents,
    HelmRollback,
    HelmUninstall,
    HelmUpgrade,
    Inventory,
    MakeDirectory,
    Publish,
    RemoveDirectory,
)

__all__ = [
    "Action",
    "Apply",
    "Delete",
    "DeleteAgents",
    "EnsureAccount",
    "Finalizer",
    "GrowClaim",
    "HelmRollback",
    "HelmUninstall",
    "HelmUpgrade",
    "Inventory",
    "Key",
    "MakeDirectory",
    "Object",
    "Plan",
    "Publish",
    "RemoveDirectory",
    "SetLabel",
    "SetStatus",
    "Warn",
    "apart",
    "staged",
]


@dataclass(frozen=True)
class Plan:
    """Actions to execute, status to report, and time of the next reconcile.

    actions     in order; after a failure only those with a stage follow, and the object is retried with backoff
    conditions  Ready first, then one per stage; the report adds Reconciling and Stalled
    status      further top-level status fields of this controller; always the same set of fields
    requeue     seconds until the next reconcile without an event; None for never
    """

    actions: tuple[Action, ...] = ()
    conditions: tuple[Condition, ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict)
    requeue: float | None = None

    @property
    def empty(self) -> bool:
        return not self.actions


def staged(
    stages: Sequence[Condition],
    status: Mapping[str, Any],
    actions: tuple[Action, ...] = (),
    requeue: float | None = None,
) -> Plan:
    """A plan that reports stages, and Ready as their summary."""
    return Plan(actions, (summary(stages), *stages), status, requeue)
