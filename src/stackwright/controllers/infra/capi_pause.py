"""Pause of Cluster API: a paused object causes no changes in Kubernetes or OpenStack. Pure.

`clusterctl move` depends on it: it pauses the Cluster, copies all objects into another cluster, and deletes them here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Protocol, TypeVar

from stackwright.controllers.infra.clusterapi import PAUSED, is_capi_paused
from stackwright.controllers.infra.teardown import POLL
from stackwright.core.conditions import READY, Condition, copied, done, find, waiting
from stackwright.core.objects import has_finalizer, is_deleting
from stackwright.core.pausing import PAUSED_CONDITION, with_pause_ended
from stackwright.core.plan import Object, Plan

_KEPT = ("conditions", "observedGeneration")  # fields that the report writes itself


class Pausable(Protocol):
    @property
    def obj(self) -> Object: ...

    @property
    def paused(self) -> str: ...


S = TypeVar("S", bound=Pausable)


def without_actions_if_capi_paused(decide: Callable[[S], Plan]) -> Callable[[S], Plan]:
    """Wrap `decide` so that a paused object gets a plan without actions."""

    @wraps(decide)
    def paused_or_decided(seen: S) -> Plan:
        if seen.paused:
            return capi_paused(seen.obj, seen.paused)
        return with_pause_ended(decide(seen), seen.obj)

    return paused_or_decided


def capi_pause_cause(obj: Object, top: Object | None = None, *owners: Object | None) -> str:
    """Cause of the pause; empty if the object is not paused. `top` is its Cluster, `owners` are objects of ours."""
    if is_capi_paused(obj):
        return f"the annotation {PAUSED}"
    for owner in owners:
        if owner and is_capi_paused(owner):
            return f"the annotation {PAUSED} of {owner['kind']} {owner['metadata']['name']}"
    if ((top or {}).get("spec") or {}).get("paused"):
        return f"spec.paused of Cluster {(top or {})['metadata']['name']}"
    return ""


def capi_paused(obj: Object, cause: str) -> Plan:
    """A plan without actions that keeps the status and adds the condition Paused with the cause.

    It requeues, because the kinds of Cluster API are not watched.
    """
    text = f"Paused by {cause}"
    leaves = is_deleting(obj) and has_finalizer(obj)
    if leaves:
        text = f"{text}; it is being deleted, and its resources in OpenStack are kept until the pause ends"
    status = obj.get("status") or {}
    before = [copied(entry) for entry in status.get("conditions") or () if entry["type"] != PAUSED_CONDITION]
    if leaves or (find(obj) or {}).get("reason", PAUSED_CONDITION) == PAUSED_CONDITION:
        before = [_ready(text), *(each for each in before if each.type != READY)]
    kept = {name: value for name, value in status.items() if name not in _KEPT}
    if leaves and "ready" in kept:
        kept["ready"] = False
    return Plan((), (*before, done(PAUSED_CONDITION, text, PAUSED_CONDITION)), kept, POLL)


def _ready(text: str) -> Condition:
    return waiting(READY, text, PAUSED_CONDITION)
