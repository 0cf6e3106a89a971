"""Names of the two kinds of pause, and the report when a pause has ended. Pure.

`stackwright pause` stops the actions of a cloud (runtime/cycle/pausing.py), Cluster API's pause those of a cluster's
objects (controllers/infra/capi_pause.py).
"""

from __future__ import annotations

from dataclasses import replace

from stackwright.api.meta import OURS
from stackwright.core.conditions import Condition, find
from stackwright.core.plan import Object, Plan

ANNOTATION = f"{OURS}/paused"  # of clouds and services, by `stackwright pause`; "true" pauses
PAUSED_CONDITION = "Paused"  # the name in Cluster API's contract


def with_pause_ended(plan: Plan, obj: Object) -> Plan:
    """The plan, with Paused=False if the object had the condition Paused."""
    if not plan.conditions or find(obj, PAUSED_CONDITION) is None:
        return plan
    return replace(plan, conditions=(*plan.conditions, Condition(PAUSED_CONDITION, False, "NotPaused")))
