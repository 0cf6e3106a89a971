"""The next step of one release: installs or upgrades it, then waits until its workloads are ready. Pure.

A release is installed or upgraded only if the digest of its chart and values differs from the deployed one, or if its
record is not in the state `deployed`. Progress is a new maximum of the number of new or ready pods of a workload: a
rollout may take as long as its nodes need, and flapping pods do not keep a failed revision. Pods of unavailable nodes
are ignored (core/helm/rollouts.py), and a release that waits only for such nodes is never rolled back.

An age is the time since this process first observed the state of the record, by a monotonic clock (core/ages.py). The
time without progress, and the reached progress, are written into the status once a minute, so a restarted operator
continues from there. An operator that restarts more often than once a minute never reaches the timeout: it rolls
nothing back and reports NotReady. It does not start Helm each time either, because a failed release is retried at the
earliest one minute after the start.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stackwright.api.services.helmbundle import TIMEOUT
from stackwright.api.services.voters import voter_error
from stackwright.controllers.helmbundle.claims import release_key
from stackwright.controllers.helmbundle.observe import Observed
from stackwright.controllers.helmbundle.rollback import failed, given_up, nodes_back, retry, too_late
from stackwright.controllers.helmbundle.step import (
    RETRY_FAILED,
    SETTLE,
    UNINSTALLING,
    Step,
    away_of,
    delete_interrupted,
    is_retried,
    release_digest,
    status_of,
    voters_now,
    voters_wanted,
)
from stackwright.controllers.helmbundle.validate import problems
from stackwright.core.conditions import Condition, blocked, condition_type, done, is_true, waiting, waiting_for
from stackwright.core.helm.records import FAILED
from stackwright.core.helm.rollouts import active, is_starting, lost, node_of, own_pods
from stackwright.core.kubernetes import pod_security, precache, pulls, tolerations
from stackwright.core.kubernetes.nodes import is_or_are, nodes_text
from stackwright.core.kubernetes.workload_health import why
from stackwright.core.objects import CLOUD, controller_of, label
from stackwright.core.plan import HelmUpgrade, Object
from stackwright.core.ports import Release
from stackwright.services.registry import VOTING

OWNER_UNSEEN = 5.0
# Step in which the waited time is written to the status (seconds).
STEP = 60.0


def next_step(seen: Observed, wanted: Object) -> Step:
    return _remembering(seen, _step(seen, wanted), wanted)


def _remembering(seen: Observed, step: Step, wanted: Object) -> Step:
    """Adds facts about earlier revisions to the status: the newest ready one, which is the target of a rollback, what
    Helm installed as that one and as the newest, and whether this one was retried.
    """
    name = wanted["name"]
    before, record = seen.before(name), seen.records.get(name)
    ready, votes = int(before.get("readyRevision") or 0), int(before.get("readyVoters") or 0)
    if step.status["success"]:
        ready, votes = step.status["revision"], voters_wanted(wanted)
    elif not votes and record and record.revision == ready:
        # Earlier versions did not record voters. A rollback removes servers that a user added by hand.
        votes = min(voters_now(seen, wanted), voters_wanted(wanted))
    # Helm reuses the number of a revision whose record is deleted: nothing is known of the new one.
    unknown = record.revision if record and record.state == UNINSTALLING else 0
    if ready == unknown:
        ready, votes = 0, 0
    more: dict[str, Any] = {
        "readyRevision": ready,
        "readyVoters": votes,
        "namespace": str(wanted.get("namespace") or ""),
    }
    kept = {str(ready), str(record.revision)} - {str(unknown)} if record else set()
    if manifests := {each: digest for each, digest in seen.all_installed(name).items() if each in kept}:
        more["manifests"] = manifests
    if not step.status["success"] and is_retried(before, release_digest(seen.settings, wanted)):
        more["retriedDigest"] = before["retriedDigest"]
    return replace(step, status={**more, **step.status})


def _step(seen: Observed, wanted: Object) -> Step:
    name = wanted["name"]
    if wrong := problems(seen.settings, seen.obj["metadata"]["namespace"], wanted, seen.made):
        message = f"Release {name}: {'; '.join(wrong)}"
        # The operator may not have received the service object yet.
        again = OWNER_UNSEEN if controller_of(seen.obj) else None
        return Step((), blocked(condition_type(name), "NotPermitted", message), status_of(None, success=False), again)
    if other := seen.taken.get(release_key(seen.obj, wanted)):
        message = f"Release {name} belongs to HelmBundle {'/'.join(other)}; choose another name, or delete that object"
        return Step((), blocked(condition_type(name), "Taken", message), status_of(None, success=False), RETRY_FAILED)
    target = release_digest(seen.settings, wanted)
    record = seen.records.get(name)
    before = seen.before(name)
    is_deployed = record is not None and record.digest == target
    if before.get("failedDigest") == target and not is_deployed:
        back = nodes_back(seen, before)
        if not back or is_retried(before, target):
            return given_up(seen, wanted, record)
        return retry(wanted, record, target, back)
    if record and record.digest == target and record.state == FAILED and seen.ages[name] < RETRY_FAILED:
        return failed(name, record, before, RETRY_FAILED - seen.ages[name])
    if record is None or record.digest != target or record.state != "deployed":
        if error := _release_voter_error(seen, wanted):
            status = status_of(record, success=False, message=error)
            return Step((), blocked(condition_type(name), "WouldLoseMajority", error), status, holds=True)
        if wait := _lacking(seen, wanted):
            return Step((), wait, status_of(record, success=False, message=wait.message))
        return _upgrade(seen, wanted, record, target)
    return _watch(seen, wanted, record, target)


def _release_voter_error(seen: Observed, wanted: Object) -> str:
    """The error if the new values have fewer voting servers than exist now (ready or not); empty otherwise."""
    if (chart := VOTING.get(wanted["chart"])) is None:
        return ""
    if not (problem := voter_error(voters_now(seen, wanted), voters_wanted(wanted))):
        return ""
    index = seen.obj["spec"]["releases"].index(wanted)
    return f"spec.releases[{index}].values.{chart.voters_field}: {problem}"


def _lacking(seen: Observed, wanted: Object) -> Condition | None:
    """The missing requirements of a release: values for this chart version and, in a cloud, its images on the nodes."""
    made_for, type_ = wanted.get("chartDigest"), condition_type(wanted["name"])
    if made_for and made_for != seen.settings.charts.get(wanted["chart"]):
        chart = f"this version of the chart {wanted['chart']}"
        return waiting(type_, f"Waiting for the service object to write values for {chart}")
    if not label(seen.obj, CLOUD):
        return None
    values = wanted.get("values") or {}
    images = precache.lacking(seen.holder, seen.nodes, precache.images_of(values), tolerations.of_values(values))
    return waiting_for(type_, images) if images else None


def _upgrade(seen: Observed, wanted: Object, record: Release | None, target: str) -> Step:
    key = release_key(seen.obj, wanted)
    actions = delete_interrupted(record, key) if record else ()
    upgrade = HelmUpgrade(key, wanted["chart"], wanted.get("version", ""), wanted.get("values") or {}, target, seen.obj)
    verb = "upgraded" if record else "installed"
    message = f"Release {wanted['name']} is being {verb}"
    condition = waiting(condition_type(wanted["name"]), message, "Installing" if record is None else "Upgrading")
    status = status_of(record, success=False, message=message)
    # The status protects the records of a release until it is uninstalled. It has no facts of a revision that is
    # installed anew.
    if not seen.is_in_status(wanted["name"]) or _is_outdated(seen, record):
        return Step((), condition, status, SETTLE, first=True)
    return Step((*actions, upgrade), condition, status, SETTLE)


def _is_outdated(seen: Observed, record: Release | None) -> bool:
    """Whether the status has facts of a revision that was being uninstalled."""
    if record is None or record.state != UNINSTALLING:
        return False
    before = seen.before(record.name)
    return before.get("readyRevision") == record.revision or str(record.revision) in (before.get("manifests") or {})


def _watch(seen: Observed, wanted: Object, record: Release, target: str) -> Step:
    """Wait until the workloads are ready, at most for the timeout of the release without progress."""
    name = wanted["name"]
    age = seen.ages[name]
    ready = int(seen.before(name).get("readyRevision") or 0)
    was_ready = ready == record.revision
    if age < SETTLE and not was_ready:
        message = f"Release {name} was just deployed"
        return Step(
            (),
            waiting(condition_type(name), message, "Installing"),
            status_of(record, success=False, message=message),
            SETTLE - age,
        )
    unready, away = seen.unready(name), away_of(seen, name)
    if not unready:
        message = f"without {nodes_text(away)}, which {is_or_are(away)} not ready" if away else ""
        return Step((), done(condition_type(name), message, "Deployed"), status_of(record, success=True, away=away))
    # StatefulSets and Deployments before Jobs, which usually depend on them.
    message = "; ".join(_why(seen, each) for each in unready)
    reason = _reason(seen, unready)
    condition = waiting(condition_type(name), message, reason or "NotReady")
    if was_ready:
        return Step((), condition, status_of(record, success=False, message=message, away=away))
    limit, progress, held = _limit(seen, wanted, unready), seen.progress[name], seen.held(name)
    if held or progress.still < limit:
        waited = progress.still - progress.still % STEP
        stood = replace(progress, still=waited) if waited else None
        status = status_of(record, success=False, message=message, stood=stood, away=away)
        again = None if held else min(limit - progress.still, waited + STEP - progress.still)
        return Step((), condition, status, again)
    message = f"Release {name} is not ready and made no progress for {limit:.0f} s: {message}"
    return too_late(seen, wanted, record, message, replace(progress, still=limit), reason)


def _why(seen: Observed, workload: Object) -> str:
    """The cause for a workload that is not ready; causes of pods on unavailable nodes are ignored."""
    if refused := pod_security.refusal(workload, seen.events):
        return refused
    pods = own_pods(workload, seen.pods)
    cause = why(workload, [pod for pod in pods if node_of(pod) not in seen.away])
    gone = {node_of(pod) for pod in lost(workload, pods, seen.away)}
    return f"{cause}; waits for {nodes_text(gone)}, which {is_or_are(gone)} not ready" if gone else cause


def _reason(seen: Observed, unready: list[Object]) -> str:
    """The reason if pods of a release are refused or cannot pull their images; otherwise empty."""
    if any(pod_security.refusal(each, seen.events) for each in unready):
        return pod_security.REASON
    pods = [pod for each in unready for pod in own_pods(each, seen.pods) if node_of(pod) not in seen.away]
    found = pulls.first_failure(pods)
    return found.reason if found else ""


def _limit(seen: Observed, wanted: Object, unready: list[Object]) -> float:
    """Seconds without progress after which the release is not ready in time."""
    timeout, start = float(wanted.get("timeout") or TIMEOUT), float(wanted.get("startTimeout") or 0)
    if start <= timeout:
        return timeout
    awaited = [pod for workload in unready for pod in active(workload, seen.pods) if not is_true(pod)]
    return start if awaited and all(map(is_starting, awaited)) else timeout
