"""Deletion of a cluster. Pure.

The order is: the machines, which their owners delete; the bastion; then the other resources, dependents first.
"""

from __future__ import annotations

from dataclasses import replace

from stackwright.controllers.capicluster.bastion import gone
from stackwright.controllers.capicluster.objects import named_addresses
from stackwright.controllers.capicluster.observe import KIND, Observed
from stackwright.controllers.capicluster.stages import FIELDS
from stackwright.controllers.infra import teardown
from stackwright.controllers.infra.managed_resources import record_of, written
from stackwright.core.conditions import Condition, waiting_for
from stackwright.core.objects import has_finalizer
from stackwright.core.plan import Action, Plan, apart


def plan_deletion(seen: Observed) -> Plan:
    if not has_finalizer(seen.obj):
        return Plan()
    if seen.machines:
        names = ", ".join(each["metadata"]["name"] for each in seen.machines)
        stage = waiting_for(teardown.DELETED, f"OpenStackMachine {names}", reason="MachinesLeft", gone=True)
        return _held(seen, stage)
    if seen.bastion is not None:
        found = gone(seen, seen.bastion)
        return _held(seen, replace(found.condition, type=teardown.DELETED), apart(teardown.DELETED, found.actions))
    return teardown.tear_down(KIND, seen, record_of(seen.status), written, keeps=named_addresses(seen.spec))


def _held(seen: Observed, stage: Condition, actions: tuple[Action, ...] = ()) -> Plan:
    """A plan that waits. It keeps the status, because machines may still need it."""
    kept = {name: seen.status[name] for name in FIELDS if name in seen.status}
    return teardown.deletion_plan(stage, {**kept, "ready": False}, actions)
