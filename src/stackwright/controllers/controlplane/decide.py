"""(OpenStackControlPlane, its service objects) → Plan. Pure."""

from __future__ import annotations

from functools import partial

from stackwright.cloud.controlplane import INFRASTRUCTURE_ONLY, NEEDS, STAGE, OpenStackControlPlaneSpec
from stackwright.controllers.cloud.converge import Entry, another, converge, stopped
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.controlplane.objects import deployment, refinement
from stackwright.controllers.controlplane.validate import parse
from stackwright.core.conditions import Condition, blocked, waiting
from stackwright.core.objects import annotation, is_deleting
from stackwright.core.plan import Plan


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()  # owned objects are deleted by Kubernetes
    if seen.others:
        return stopped(another(seen.others))
    spec, errors = parse(seen.obj)
    if spec is None:
        return stopped(blocked("Ready", "InvalidSpec", "; ".join(errors)))
    staged = _staged(spec) if annotation(seen.obj, STAGE) == INFRASTRUCTURE_ONLY else None
    gone = "its section was removed or disabled"
    entry = Entry(partial(refinement, spec), staged, gone, given=spec)
    return converge(seen, deployment(spec), entry)


def _staged(spec: OpenStackControlPlaneSpec) -> Condition:
    held = ", ".join(name for name in NEEDS if spec.on(name)) or "nothing"
    text = f"Annotation {STAGE}={INFRASTRUCTURE_ONLY} pauses {held}; remove it to continue"
    return waiting("DeploymentStage", text, "Paused")
