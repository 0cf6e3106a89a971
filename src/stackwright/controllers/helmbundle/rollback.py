"""Handles a release that is not ready in time, and revisions that failed or were rolled back. Pure.

A release without progress for its timeout is rolled back to the last ready revision, and its digest is not retried
until the HelmBundle changes. The failed digest is written into the status before Helm starts, so that after a failed
rollback the unready revision is not installed again.

A revision that was rolled back while nodes were unavailable is retried once when one of them is available again: the
status keeps that digest until it is ready, so a flapping node does not start Helm each time.

The status has the digest of what Helm installed as the ready revision, and Helm is started only if the record is that.

An upgrade to more voting servers is not rolled back: the added servers may be members already, and without them the
others have no majority. The upgrade stays, is reported as NotReady, and continues when its pods are ready.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from stackwright.api.services.voters import DEFAULT, voter_error
from stackwright.controllers.helmbundle.claims import release_key
from stackwright.controllers.helmbundle.observe import Observed
from stackwright.controllers.helmbundle.step import (
    RETRY_FAILED,
    SETTLE,
    Step,
    away_of,
    delete_interrupted,
    is_retried,
    status_of,
    voters_wanted,
)
from stackwright.core.ages import Progress
from stackwright.core.conditions import blocked, condition_type, steady, waiting
from stackwright.core.helm.records import FAILED, is_transient
from stackwright.core.kubernetes.nodes import is_or_are, nodes_text
from stackwright.core.plan import HelmRollback, Object
from stackwright.core.ports import Release
from stackwright.services.registry import VOTING

ROLLING, ROLLED = "rolling back", "rolled back"
UNKNOWN = "Release was not ready in time"  # the cause if the installed CRDs lack the field for it


@dataclass(frozen=True)
class Rollback:
    """A rollback as the status records it.

    revision  the target of the rollback
    cause     why the release is rolled back
    away      nodes that cause a retry when they are available again
    """

    revision: int
    cause: str
    away: Collection[str]

    @classmethod
    def recorded(cls, before: Object) -> Rollback:
        revision = int(before.get("rollbackRevision") or before.get("readyRevision") or 0)
        return cls(revision, str(before.get("rollbackCause") or UNKNOWN), before.get("away") or ())

    def message(self, phase: str, failure: str = "") -> str:
        again = f"; retried when {nodes_text(self.away)} {is_or_are(self.away)} ready" if self.away else ""
        return f"{self.cause}; {phase} to revision {self.revision}{again}{f' failed: {failure}' if failure else ''}"

    def status(self, record: Release | None, digest: str, message: str, stood: Progress | None = None) -> Object:
        status = status_of(record, success=False, message=message, failed=digest, stood=stood, away=self.away)
        return {**status, "rollbackRevision": self.revision, "rollbackCause": self.cause}


def nodes_back(seen: Observed, before: Object) -> list[str]:
    """Nodes that are available but were not when the release was rolled back; they may have caused the rollback."""
    return [node for node in before.get("away") or () if node not in seen.away]


def retry(wanted: Object, record: Release | None, target: str, back: list[str]) -> Step:
    """The step before the retry of a digest that was rolled back. It only records the retry in the status."""
    message = f"Retrying release {wanted['name']}: {nodes_text(back)} {is_or_are(back)} available again"
    status = {**status_of(record, success=False, message=message), "retriedDigest": target}
    condition = waiting(condition_type(wanted["name"]), message, "Upgrading")
    return Step((), condition, status, SETTLE, first=True)


def given_up(seen: Observed, wanted: Object, record: Release | None) -> Step:
    """The step for a digest that failed: the rollback is done, in progress or interrupted."""
    name = wanted["name"]
    before = seen.before(name)
    ready, digest, rollback = (
        int(before.get("readyRevision") or 0),
        str(before["failedDigest"]),
        Rollback.recorded(before),
    )
    key = release_key(seen.obj, wanted)
    cause = steady(record.cause) if record and record.state == FAILED else ""
    interrupted = delete_interrupted(record, key) if record else ()
    if record and 0 < ready < record.revision and (is_transient(cause) or interrupted):
        if not (manifest := seen.installed(name, ready)):
            return _not_rolled_back(name, record, rollback, digest, unknown(ready))
        left = RETRY_FAILED - seen.ages[name]
        actions = () if left > 0 else (*interrupted, HelmRollback(key, ready, manifest))
        message = rollback.message(ROLLING, cause)
        status = rollback.status(record, digest, message)
        return Step(actions, waiting(condition_type(name), message, "RollingBack"), status, max(left, SETTLE))
    if record and record.state == FAILED:
        return _not_rolled_back(name, record, rollback, digest, cause)
    message = rollback.message(ROLLED)
    condition, status = blocked(condition_type(name), "RolledBack", message), rollback.status(record, digest, message)
    if record is None or record.state != "deployed" or seen.unready(name):
        return Step((), condition, status)
    if seen.ages[name] < SETTLE:
        return Step((), condition, status, SETTLE - seen.ages[name])
    return Step((), condition, {**status, "readyRevision": record.revision})


def _not_rolled_back(name: str, record: Release, rollback: Rollback, digest: str, cause: str) -> Step:
    message = rollback.message(ROLLING, cause)
    status = rollback.status(record, digest, message)
    return Step((), blocked(condition_type(name), "RollbackFailed", message), status)


def unknown(revision: int) -> str:
    """Why there is no rollback: users may be able to write records, so a record alone is not trusted."""
    return f"what Helm installed as revision {revision} is not known"


def failed(name: str, record: Release, before: Object, left: float) -> Step:
    text = f"Release {name} failed: {record.cause}" if record.cause else before.get("message")
    message = str(text or f"Release {name} failed")
    return Step(
        (), blocked(condition_type(name), "Failed", message), status_of(record, success=False, message=message), left
    )


def too_late(seen: Observed, wanted: Object, record: Release, message: str, stood: Progress, reason: str) -> Step:
    name, target = record.name, record.digest
    before = seen.before(name)
    ready = int(before.get("readyRevision") or 0)
    manifest = seen.installed(name, ready)
    # Without a recorded number of voters, assume the default.
    error = voter_error(voters_wanted(wanted), int(before.get("readyVoters") or DEFAULT)) if ready else ""
    why = f"{VOTING[wanted['chart']].voters_field}: {error}" if error else "" if manifest else unknown(ready)
    if ready and why:
        message = f"{message}; not rolled back to revision {ready}: {why}"
    if why or not ready:
        status = status_of(record, success=False, message=message, stood=stood)
        return Step((), blocked(condition_type(name), reason or "NotReady", message), status)
    away = set() if is_retried(before, target) else away_of(seen, name)
    rollback = Rollback(ready, message, away)
    message = rollback.message(ROLLING)
    status = rollback.status(record, target, message, stood)
    condition = waiting(condition_type(name), message, "RollingBack")
    if before.get("failedDigest") != target:
        return Step((), condition, status, SETTLE, first=True)
    return Step((HelmRollback((record.namespace, name), ready, manifest),), condition, status)
