"""(HelmBundle, Helm's records, workloads) → Plan. Pure.

A release is installed when the digest of its chart and values is not the deployed one; nothing else ever starts
helm. It is then watched until its workloads are ready. One that makes no progress for its time, though it is not
ready, is rolled back to the last revision that was, and its digest is not tried again until the HelmBundle changes. It
is progress when more pods of a workload are new, or ready, than ever since: a rollout may take as long as it has nodes
to go to, and pods that come and go do not keep a bad one. The digest that failed is in the status before Helm starts,
so a rollback that fails is not followed by another upgrade to what was not ready.

Pods of nodes that are away do not count (core/helm/rollouts.py), and what waits for nothing but such a node is not
rolled back, however long it waits. What was rolled back while nodes were away is tried again when one of them is back,
once: the status remembers that digest until it is ready, so a node that comes and goes does not start Helm each time.

An upgrade to more servers that vote is not rolled back: those that were added may be members by now, and without them
the others have no majority. It stays, is told as NotReady, and goes on by itself once its pods get ready. One to fewer
is refused at admission; where that was off or away, nothing of the update of the HelmBundle is applied.

An age counts from when this process first saw the record as it is, and not by the time of day (core/ages.py). What was
waited for a release without progress, and what it had reached, is written into its status once a minute, so an operator
that is started again goes on from there. One that dies within a minute each time never ends the wait: nothing is rolled
back then, what is deployed stays and is told as NotReady. A release that failed is tried again a minute after the start
at the earliest: such an operator does not start Helm each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from stackwright.api.kinds import SECRET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.controllers.helmbundle.claims import past, release_key, statuses_of
from stackwright.controllers.helmbundle.observe import Observed
from stackwright.controllers.helmbundle.validate import permitted, problems
from stackwright.core import precache, tolerations
from stackwright.core.ages import Progress
from stackwright.core.conditions import Condition, blocked, condition_type, done, is_true, steady, summary, waiting
from stackwright.core.digest import digest
from stackwright.core.helm.records import FAILED, is_transient
from stackwright.core.helm.rollouts import active, is_starting, is_unschedulable, lost, node_of, own
from stackwright.core.nodes import are, named
from stackwright.core.objects import CLOUD, controller_of, has_finalizer, is_deleting, label
from stackwright.core.plan import Action, Delete, Finalizer, HelmRollback, HelmUninstall, HelmUpgrade, Key, Object, Plan
from stackwright.core.ports import Release
from stackwright.core.settings import Settings
from stackwright.core.workload_health import why, workload_ready
from stackwright.services.registry import VOTING
from stackwright.services.voters import DEFAULT, field_of, voter_error, voters_by

# After Helm ends, the watches may still return the previous state of the workloads for this long (seconds).
SETTLE = 1.0
# The API server refused an object of the release. The cause may be fixed outside, so retry, but slowly (seconds).
RETRY_FAILED = 60.0
OWNER_UNSEEN = 5.0
# Step in which the waited time is written to the status (seconds).
STEP = 60.0
ROLLING, ROLLED = "; rolling back to revision ", "; rolled back to revision "


@dataclass(frozen=True)
class Step:
    """The actions, condition, status and requeue delay of one release.

    first  write its status before Helm runs for any release: a failing action would prevent the write
    holds  block all releases of the HelmBundle, so that an invalid update is not applied in part
    """

    actions: tuple[Action, ...]
    condition: Condition
    status: dict[str, Any]
    requeue: float | None = None
    first: bool = False
    holds: bool = False


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return _remove(seen)
    steps = {each["name"]: _remembering(seen, _release(seen, each), each) for each in seen.obj["spec"]["releases"]}
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
    # Keep the status of releases that are not uninstalled yet, even if a release of another namespace has the same
    # name.
    statuses |= {name: statuses_of(seen.obj)[name] for _, name in dropped} if held else {}
    requeues = [step.requeue for step in steps.values() if step.requeue is not None]
    return Plan(tuple(actions), (*summary(stages), *stages), {"releaseStatuses": statuses}, min(requeues, default=None))


def _remove(seen: Observed) -> Plan:
    if not has_finalizer(seen.obj):
        return Plan()
    # Uninstall all releases of the spec, not only those with a known record: the watch may lag behind Helm.
    keys = [release_key(seen.obj, wanted) for wanted in seen.obj["spec"]["releases"]]
    own = seen.obj["metadata"]["namespace"]
    mine = [key for key in keys if permitted(seen.settings, own, key[0]) and key not in seen.taken]
    uninstall = [HelmUninstall(key) for key in [*mine, *_dropped(seen)]]
    return Plan((*uninstall, Finalizer(HelmBundle.KIND, seen.obj, False)))


def _dropped(seen: Observed) -> list[Key]:
    """Releases in the status of this HelmBundle that its spec no longer names."""
    own = seen.obj["metadata"]["namespace"]
    wanted = {release_key(seen.obj, each) for each in seen.obj["spec"]["releases"]}
    dropped = past(seen.obj) - wanted - seen.taken.keys()
    return sorted(key for key in dropped if permitted(seen.settings, own, key[0]))


def release_digest(settings: Settings, wanted: Object) -> str:
    """Digest of the chart's files and the values; a deployed release with the same digest is up to date."""
    chart = settings.charts.get(wanted["chart"], wanted["chart"])
    return digest(chart, wanted.get("version", ""), wanted.get("values") or {})


def _remembering(seen: Observed, step: Step, wanted: Object) -> Step:
    """Adds to the status what is known of earlier revisions: the newest ready one, which is the target of a rollback,
    and whether this one was tried again.
    """
    before, record = seen.before(wanted["name"]), seen.records.get(wanted["name"])
    ready, votes = int(before.get("readyRevision") or 0), int(before.get("readyVoters") or 0)
    if step.status["success"]:
        ready, votes = step.status["revision"], _voters_wanted(wanted)
    elif not votes and record and record.revision == ready:
        # Earlier versions did not record voters. A rollback removes servers that a user added by hand.
        votes = min(_voters_now(seen, wanted), _voters_wanted(wanted))
    more = {"readyRevision": ready, "readyVoters": votes, "namespace": str(wanted.get("namespace") or "")}
    if not step.status["success"] and _is_retried(before, release_digest(seen.settings, wanted)):
        more["retriedDigest"] = before["retriedDigest"]
    return replace(step, status={**more, **step.status})


def _held(name: str, step: Step, by: list[str]) -> Step:
    if not step.actions:
        return step
    message = f"Waiting for valid values of release {', '.join(by)}"
    return Step((), waiting(condition_type(name), message), {**step.status, "message": message})


def _release_voter_error(seen: Observed, wanted: Object) -> str:
    """The error if the new values have fewer voting servers than exist now (ready or not); empty otherwise."""
    if (chart := VOTING.get(wanted["chart"])) is None:
        return ""
    if not (problem := voter_error(_voters_now(seen, wanted), _voters_wanted(wanted))):
        return ""
    index = seen.obj["spec"]["releases"].index(wanted)
    return f"spec.releases[{index}].values.{field_of(chart)}: {problem}"


def _voters_now(seen: Observed, wanted: Object) -> int:
    """Number of existing voting servers of a release, ready or not; 0 for a chart without voting servers."""
    chart = VOTING.get(wanted["chart"])
    servers = [each for each in seen.workloads[wanted["name"]] if chart and label(each, "component") == chart.voters]
    return max([int(each["spec"].get("replicas") or 0) for each in servers], default=0)


def _voters_wanted(wanted: Object) -> int:
    """Number of voting servers in the values of a release; 0 for a chart without voting servers."""
    chart = VOTING.get(wanted["chart"])
    return voters_by(chart, wanted.get("values") or {}) if chart else 0


def _release(seen: Observed, wanted: Object) -> Step:
    name = wanted["name"]
    if wrong := problems(seen.settings, seen.obj["metadata"]["namespace"], wanted, seen.made):
        message = f"Release {name}: {'; '.join(wrong)}"
        # The service object may not be in the store yet.
        again = OWNER_UNSEEN if controller_of(seen.obj) else None
        return Step((), blocked(condition_type(name), "NotPermitted", message), _status(None, success=False), again)
    if other := seen.taken.get(release_key(seen.obj, wanted)):
        message = f"Release {name} belongs to HelmBundle {'/'.join(other)}; choose another name, or delete that object"
        return Step((), blocked(condition_type(name), "Taken", message), _status(None, success=False), RETRY_FAILED)
    target = release_digest(seen.settings, wanted)
    record = seen.records.get(name)
    before = seen.before(name)
    is_deployed = record is not None and record.digest == target
    if before.get("failedDigest") == target and not is_deployed:
        back = _back(seen, before)
        if not back or _is_retried(before, target):
            return _given_up(seen, wanted, record)
        return _retry(wanted, record, target, back)
    if record and record.digest == target and record.state == FAILED and seen.ages[name] < RETRY_FAILED:
        return _failed(name, record, before, RETRY_FAILED - seen.ages[name])
    if record is None or record.digest != target or record.state != "deployed":
        if error := _release_voter_error(seen, wanted):
            status = _status(record, success=False, message=error)
            return Step((), blocked(condition_type(name), "WouldLoseMajority", error), status, holds=True)
        if lacking := _lacking(seen, wanted):
            message = f"Waiting for {lacking}"
            return Step((), waiting(condition_type(name), message), _status(record, success=False, message=message))
        return _upgrade(seen, wanted, record, target)
    return _watch(seen, wanted, record, target)


def _back(seen: Observed, before: Object) -> list[str]:
    """Those nodes that were away when the release was rolled back, and are back: it may have been for them."""
    return [node for node in before.get("away") or () if node not in seen.away]


def _is_retried(before: Object, target: str) -> bool:
    """Whether this digest was rolled back and tried again, and has not been ready since."""
    return bool(before.get("retriedDigest") == target)


def _retry(wanted: Object, record: Release | None, target: str, back: list[str]) -> Step:
    """The step before a digest that was rolled back is tried again. It only writes this into the status."""
    message = f"Retrying release {wanted['name']}: {named(back)} {are(back)} available again"
    status = {**_status(record, success=False, message=message), "retriedDigest": target}
    condition = waiting(condition_type(wanted["name"]), message, "Upgrading")
    return Step((), condition, status, SETTLE, first=True)


def _lacking(seen: Observed, wanted: Object) -> str:
    """What a release still waits for: values for this chart version and, in a cloud, its images on the nodes."""
    made_for = wanted.get("chartDigest")
    if made_for and made_for != seen.settings.charts.get(wanted["chart"]):
        return f"the service object to write values for this version of the chart {wanted['chart']}"
    if not label(seen.obj, CLOUD):
        return ""
    values = wanted.get("values") or {}
    return precache.lacking(seen.holder, seen.nodes, precache.images_of(values), tolerations.of_values(values))


def _status(
    record: Release | None,
    *,
    success: bool,
    message: str = "",
    failed: str = "",
    stood: Progress | None = None,
    away: Iterable[str] = (),
) -> dict[str, Any]:
    """What is told of a release.

    stood  how far it was for how long, if that is to be known after a restart
    away   nodes whose return concerns it
    """
    stood = stood or Progress()
    return {
        "digest": record.digest if record else "",
        "revision": record.revision if record else 0,
        "success": success,
        "failedDigest": failed,
        "waited": int(stood.still),
        "message": message,
        **({"reached": dict(stood.reached)} if stood.reached else {}),
        **({"away": sorted(away)} if away else {}),
    }


def _given_up(seen: Observed, wanted: Object, record: Release | None) -> Step:
    """The step for a digest that failed: the rollback is done, in progress or interrupted."""
    name = wanted["name"]
    before = seen.before(name)
    ready, message = int(before.get("readyRevision") or 0), str(before.get("message", ""))
    away = before.get("away") or ()
    status = _status(record, success=False, message=message, failed=str(before["failedDigest"]), away=away)
    key = release_key(seen.obj, wanted)
    if record and record.state == FAILED:
        cause = steady(record.cause)
        status["message"] = message if cause in message else f"{message} failed: {cause}"
        if 0 < ready < record.revision and is_transient(cause):
            left = RETRY_FAILED - seen.ages[name]
            again = () if left > 0 else (HelmRollback(key, ready),)
            condition = waiting(condition_type(name), status["message"], "RollingBack")
            return Step(again, condition, status, max(left, SETTLE))
        return Step((), blocked(condition_type(name), "RollbackFailed", status["message"]), status)
    if record and 0 < ready < record.revision and (interrupted := _interrupted(record, key)):
        left = RETRY_FAILED - seen.ages[name]
        actions = () if left > 0 else (*interrupted, HelmRollback(key, ready))
        return Step(actions, waiting(condition_type(name), message, "RollingBack"), status, max(left, SETTLE))
    status["message"] = message.replace(ROLLING, ROLLED)
    condition = blocked(condition_type(name), "RolledBack", status["message"])
    if record is None or record.state != "deployed" or seen.unready(name):
        return Step((), condition, status)
    if seen.ages[name] < SETTLE:
        return Step((), condition, status, SETTLE - seen.ages[name])
    return Step((), condition, {**status, "readyRevision": record.revision})


def _interrupted(record: Release, key: Key) -> tuple[Action, ...]:
    """Deletes the record of an interrupted Helm run, with which Helm would refuse to continue. The objects of the
    release stay and are adopted.
    """
    if not record.state.startswith("pending") and record.state != "uninstalling":
        return ()
    return (Delete(SECRET, (key[0], record.secret), f"record of an interrupted Helm operation ({record.state})"),)


def _failed(name: str, record: Release, before: Object, left: float) -> Step:
    told = f"Release {name} failed: {record.cause}" if record.cause else before.get("message")
    message = str(told or f"Release {name} failed")
    return Step(
        (), blocked(condition_type(name), "Failed", message), _status(record, success=False, message=message), left
    )


def _upgrade(seen: Observed, wanted: Object, record: Release | None, target: str) -> Step:
    key = release_key(seen.obj, wanted)
    actions = _interrupted(record, key) if record else ()
    upgrade = HelmUpgrade(key, wanted["chart"], wanted.get("version", ""), wanted.get("values") or {}, target, seen.obj)
    verb = "upgraded" if record else "installed"
    message = f"Release {wanted['name']} is being {verb}"
    condition = waiting(condition_type(wanted["name"]), message, "Installing" if record is None else "Upgrading")
    return Step((*actions, upgrade), condition, _status(record, success=False, message=message), SETTLE)


def _watch(seen: Observed, wanted: Object, record: Release, target: str) -> Step:
    """Wait until the workloads are ready, at most for the timeout of the release.

    The age of a release counts from when this process first saw its record unchanged, not by wall clock
    (core/ages.py). The waited time is written to the status once a minute, and a restarted operator continues from it.
    An operator that restarts more often than once a minute therefore never reaches the timeout: it rolls nothing back
    and reports NotReady. It does not run Helm each time either, because a failed release is retried at the earliest
    one minute after the start.
    """
    name = wanted["name"]
    age = seen.ages[name]
    ready = int(seen.before(name).get("readyRevision") or 0)
    was_ready = ready == record.revision
    if age < SETTLE and not was_ready:
        message = f"Release {name} was just deployed"
        return Step(
            (),
            waiting(condition_type(name), message, "Installing"),
            _status(record, success=False, message=message),
            SETTLE - age,
        )
    unready, away = seen.unready(name), _away(seen, name)
    if not unready:
        message = f"without {named(away)}, which {are(away)} not ready" if away else ""
        return Step((), done(condition_type(name), message, "Deployed"), _status(record, success=True, away=away))
    # StatefulSets and Deployments before Jobs: who waits for whom, as a rule.
    message = "; ".join(_why(seen, each) for each in unready)
    condition = waiting(condition_type(name), message, "NotReady")
    if was_ready:
        return Step((), condition, _status(record, success=False, message=message, away=away))
    limit, progress, held = _limit(seen, wanted, unready), seen.progress[name], seen.held(name)
    if held or progress.still < limit:
        waited = progress.still - progress.still % STEP
        stood = replace(progress, still=waited) if waited else None
        status = _status(record, success=False, message=message, stood=stood, away=away)
        again = None if held else min(limit - progress.still, waited + STEP - progress.still)
        return Step((), condition, status, again)
    message = f"Release {name} is not ready and made no progress for {limit:.0f} s: {message}"
    return _too_late(seen, wanted, record, message, replace(progress, still=limit))


def _away(seen: Observed, name: str) -> set[str]:
    """Nodes that are away and concern a release: they have pods of it, or might if some cannot be scheduled."""
    lacking = [each for each in seen.workloads[name] if not workload_ready(each)]
    pods = [pod for each in lacking for pod in active(each, seen.pods)]
    if any(map(is_unschedulable, pods)):
        return set(seen.away)
    return {node for pod in pods if (node := node_of(pod)) in seen.away}


def _why(seen: Observed, workload: Object) -> str:
    """Of a workload that is not ready; pods on nodes that are away are not to blame."""
    pods = own(workload, seen.pods)
    cause = why(workload, [pod for pod in pods if node_of(pod) not in seen.away])
    gone = {node_of(pod) for pod in lost(workload, pods, seen.away)}
    return f"{cause}; waits for {named(gone)}, which {are(gone)} not ready" if gone else cause


def _limit(seen: Observed, wanted: Object, unready: list[Object]) -> float:
    """Seconds without progress after which it is too late."""
    timeout, start = float(wanted.get("timeout") or 600), float(wanted.get("startTimeout") or 0)
    if start <= timeout:
        return timeout
    awaited = [pod for workload in unready for pod in active(workload, seen.pods) if not is_true(pod)]
    return start if awaited and all(map(is_starting, awaited)) else timeout


def _too_late(seen: Observed, wanted: Object, record: Release, message: str, stood: Progress) -> Step:
    name, target = record.name, record.digest
    before = seen.before(name)
    ready = int(before.get("readyRevision") or 0)
    # Without a recorded number of voters, assume the default.
    error = voter_error(_voters_wanted(wanted), int(before.get("readyVoters") or DEFAULT)) if ready else ""
    if error:
        message = f"{message}; not rolled back to revision {ready}: {field_of(VOTING[wanted['chart']])}: {error}"
    if error or not ready:
        status = _status(record, success=False, message=message, stood=stood)
        return Step((), blocked(condition_type(name), "NotReady", message), status)
    away = set() if _is_retried(before, target) else _away(seen, name)
    again = f"; retried when {named(away)} {are(away)} ready" if away else ""
    message = f"{message}{ROLLING}{ready}{again}"
    status = _status(record, success=False, message=message, failed=target, stood=stood, away=away)
    condition = waiting(condition_type(name), message, "RollingBack")
    if before.get("failedDigest") != target:
        return Step((), condition, status, SETTLE, first=True)
    return Step((HelmRollback((record.namespace, name), ready),), condition, status)
