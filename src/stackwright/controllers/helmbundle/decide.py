"""(HelmBundle, Helm's records, workloads) → Plan. Pure.

Each release takes its own step (release.py, rollback.py). Admission rejects an update to fewer voting servers. If
admission was disabled or unavailable, no part of such an update of the HelmBundle is applied.
"""

from __future__ import annotations

from stackwright.api.services.helmbundle import HelmBundle
from stackwright.controllers.helmbundle.claims import recorded_releases, release_key, statuses_of
from stackwright.controllers.helmbundle.observe import Observed
from stackwright.controllers.helmbundle.release import next_step
from stackwright.controllers.helmbundle.step import Step
from stackwright.core.conditions import condition_type, waiting_for
from stackwright.core.objects import has_finalizer, is_deleting
from stackwright.core.plan import Action, Finalizer, HelmUninstall, Key, Plan, staged


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return _remove(seen)
    steps = {each["name"]: next_step(seen, each) for each in seen.obj["spec"]["releases"]}
    dropped = _dropped(seen)
    held = [name for name, step in steps.items() if step.holds]
    if held:
        steps = {name: _held(name, step, held) for name, step in steps.items()}
    actions: list[Action] = [] if has_finalizer(seen.obj) else [Finalizer(HelmBundle.KIND, seen.obj, True)]
    actions += [] if held else [HelmUninstall(key) for key in dropped]
    helm = [action for step in steps.values() for action in step.actions]
    actions += [] if any(step.first for step in steps.values()) else helm
    stages = [step.condition for step in steps.values()]
    statuses = {name: step.status for name, step in steps.items()}
    # Keep the status of releases that are not uninstalled yet, even if a release of the same name exists in another
    # namespace.
    statuses |= {name: statuses_of(seen.obj)[name] for _, name in dropped} if held else {}
    requeues = [step.requeue for step in steps.values() if step.requeue is not None]
    return staged(stages, {"releaseStatuses": statuses}, tuple(actions), min(requeues, default=None))


def _remove(seen: Observed) -> Plan:
    if not has_finalizer(seen.obj):
        return Plan()
    # Also those without a known record: the watch may be behind Helm, which ignores what is not installed.
    keys = [release_key(seen.obj, wanted) for wanted in seen.obj["spec"]["releases"]]
    uninstall = [HelmUninstall(key) for key in [*filter(seen.may_uninstall, keys), *_dropped(seen)]]
    return Plan((*uninstall, Finalizer(HelmBundle.KIND, seen.obj, False)))


def _dropped(seen: Observed) -> list[Key]:
    """Releases in the status of this HelmBundle that its spec no longer names."""
    wanted = {release_key(seen.obj, each) for each in seen.obj["spec"]["releases"]}
    return sorted(filter(seen.may_uninstall, recorded_releases(seen.obj) - wanted))


def _held(name: str, step: Step, by: list[str]) -> Step:
    if not (step.actions or step.first):
        return step
    condition = waiting_for(condition_type(name), f"valid values of release {', '.join(by)}")
    return Step((), condition, {**step.status, "message": condition.message})
