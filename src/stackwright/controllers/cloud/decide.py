"""(OpenStackDeployment, its service objects) → Plan. Pure."""

from __future__ import annotations

from stackwright.controllers.cloud.converge import another, converge, stopped
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.cloud.validate import parse
from stackwright.core.conditions import Condition, blocked
from stackwright.core.objects import is_deleting
from stackwright.core.plan import Plan


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()  # what it owns goes with it
    if (seen.obj.get("spec") or {}).get("draft") is True:
        return stopped(Condition("Ready", False, "Draft", "spec.draft is true: the operator leaves this object alone"))
    if seen.others:
        return stopped(another(seen))
    spec, errors = parse(seen.obj)
    if spec is None:
        return stopped(blocked("Ready", "InvalidSpec", "; ".join(errors)))
    return converge(seen, spec)
