"""What pauses an object, and how its status shows it. The cycle stops its actions (runtime/cycle/pausing.py). Pure.

A controller declares the pause of its objects:

STACKWRIGHT  clouds and what they own, by `stackwright pause`. The changes are decided on and reported, but wait.
             Deletions continue.
CLUSTER_API  the kinds of Cluster API, by its contract. Nothing is decided on, and deletions wait, too, because
             `clusterctl move` pauses the Cluster, copies all objects into another cluster, and deletes them here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stackwright.api.meta import OURS
from stackwright.core.conditions import Condition, done, find
from stackwright.core.plan import Object, Plan

PAUSED = "Paused"  # condition and reason; the name in Cluster API's contract


@dataclass(frozen=True)
class Pause:
    """value  the value of the annotation that pauses; empty: any value does"""

    annotation: str
    value: str = ""

    def is_set(self, obj: Object) -> bool:
        """Whether the object itself has the annotation."""
        annotations = obj["metadata"].get("annotations") or {}
        return self.annotation in annotations and self.value in ("", annotations[self.annotation])

    def of(self, owner: Object) -> str:
        """The cause of a pause by the annotation of an owner, or of the object itself."""
        return f"the annotation {self.annotation} of {owner['kind']} {owner['metadata']['name']}"


STACKWRIGHT = Pause(f"{OURS}/paused", "true")
CLUSTER_API = Pause("cluster.x-k8s.io/paused")


def cluster_api_cause(obj: Object, top: Object | None = None, *owners: Object | None) -> str:
    """Why an object is paused; empty if it is not. `top` is its Cluster, `owners` are objects of ours."""
    if CLUSTER_API.is_set(obj):
        return f"the annotation {CLUSTER_API.annotation}"
    for owner in owners:
        if owner and CLUSTER_API.is_set(owner):
            return CLUSTER_API.of(owner)
    if ((top or {}).get("spec") or {}).get("paused"):
        return f"spec.paused of Cluster {(top or {})['metadata']['name']}"
    return ""


def paused(message: str) -> Condition:
    return done(PAUSED, message, PAUSED)


def with_pause_ended(plan: Plan, obj: Object) -> Plan:
    """The plan, with Paused=False if the object had the condition Paused."""
    if not plan.conditions or find(obj, PAUSED) is None:
        return plan
    return replace(plan, conditions=(*plan.conditions, Condition(PAUSED, False, "NotPaused")))
