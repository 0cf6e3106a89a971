"""The step of one release: its actions, condition and status; and functions for several kinds of steps. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stackwright.api.kinds import SECRET
from stackwright.controllers.helmbundle.observe import Observed
from stackwright.core.ages import Progress
from stackwright.core.conditions import Condition
from stackwright.core.digest import digest
from stackwright.core.helm.rollouts import active, is_unschedulable, node_of
from stackwright.core.kubernetes.workload_health import workload_ready
from stackwright.core.objects import label
from stackwright.core.plan import Action, Delete, Key, Object
from stackwright.core.ports import Release
from stackwright.core.settings import Settings
from stackwright.services.voters import is_voter, voters_by

# After Helm ends, the watches may still return the previous state of the workloads for this long (seconds).
SETTLE = 1.0
UNINSTALLING = "uninstalling"  # state of a record
# The API server rejected an object of the release. A user may remove the cause, so retry, but slowly (seconds).
RETRY_FAILED = 60.0


@dataclass(frozen=True)
class Step:
    """The actions, condition, status and requeue delay of one release.

    first  write the status before Helm runs for any release, because a failed action would prevent the write
    holds  hold back all releases of the HelmBundle, so that an invalid update is not applied in part
    """

    actions: tuple[Action, ...]
    condition: Condition
    status: dict[str, Any]
    requeue: float | None = None
    first: bool = False
    holds: bool = False


def release_digest(settings: Settings, wanted: Object) -> str:
    """Digest of the chart's files and the values; a deployed release with the same digest is up to date."""
    chart = settings.charts.get(wanted["chart"], wanted["chart"])
    return digest(chart, wanted.get("version", ""), wanted.get("values") or {})


def status_of(
    record: Release | None,
    *,
    success: bool,
    message: str = "",
    failed: str = "",
    stood: Progress | None = None,
    away: Iterable[str] = (),
) -> dict[str, Any]:
    """The status of a release.

    stood  its progress and the time without further progress, if a restarted operator needs them
    away   unavailable nodes that concern it
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


def is_retried(before: Object, target: str) -> bool:
    """Whether this digest was retried after a rollback, and has not been ready since."""
    return bool(before.get("retriedDigest") == target)


def delete_interrupted(record: Release, key: Key) -> tuple[Action, ...]:
    """Deletes the record of an interrupted Helm run, because Helm rejects new operations while it exists. The objects
    of the release stay and are adopted.
    """
    if not record.state.startswith("pending") and record.state != UNINSTALLING:
        return ()
    return (Delete(SECRET, (key[0], record.secret), f"record of an interrupted Helm operation ({record.state})"),)


def away_of(seen: Observed, name: str) -> set[str]:
    """Unavailable nodes that concern a release: those with its pods, or all if some of its pods cannot be scheduled."""
    lacking = [each for each in seen.workloads[name] if not workload_ready(each)]
    pods = [pod for each in lacking for pod in active(each, seen.pods)]
    if any(map(is_unschedulable, pods)):
        return set(seen.away)
    return {node for pod in pods if (node := node_of(pod)) in seen.away}


def voters_now(seen: Observed, wanted: Object) -> int:
    """Number of existing voting servers of a release, ready or not; 0 for a chart without voting servers."""
    servers = [each for each in seen.workloads[wanted["name"]] if is_voter(wanted["chart"], label(each, "component"))]
    return max([int(each["spec"].get("replicas") or 0) for each in servers], default=0)


def voters_wanted(wanted: Object) -> int:
    """Number of voting servers in the values of a release; 0 for a chart without voting servers."""
    return voters_by(wanted["chart"], wanted.get("values") or {})
