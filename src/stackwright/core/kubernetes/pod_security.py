"""Pods that Kubernetes refuses to create because of Pod Security, and how to permit them. Pure.

The level comes from a label of the namespace, or from a default of the cluster, which no object contains. The error of
the API server names the level in both cases: Deployments store it in a condition, other workloads only in Events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.api.errors import shortened
from stackwright.core.kubernetes.workload_health import is_observed

Object = Mapping[str, Any]
REASON = "BlockedPodSecurity"
LONGEST = 300  # characters of the violations in a message
_REFUSED = re.compile(r'violates PodSecurity "(\w{1,20}):[\w.]{1,20}": (.*)', re.DOTALL)


def may_be_refused(workload: Object) -> bool:
    """Whether a workload has fewer pods than it should create now, so its Events may contain the cause."""
    status, spec = workload.get("status") or {}, workload.get("spec") or {}
    if not status or not is_observed(workload):
        return False
    if workload["kind"] == "DaemonSet":
        there = status.get("currentNumberScheduled")
        return there is not None and there < (status.get("desiredNumberScheduled") or 0)
    if workload["kind"] == "StatefulSet":
        there, wanted = status.get("replicas"), spec.get("replicas")
        return there is not None and there < (1 if wanted is None else wanted)
    if workload["kind"] == "Job":
        return "startTime" in status and not any(status.get(name) for name in ("active", "succeeded", "failed"))
    return False


def refusal(workload: Object, events: Iterable[Object] = ()) -> str:
    """The cause of the refusal of a workload's pods, with the remedy; empty if none are refused."""
    for text in (*_of_conditions(workload), *_of_events(workload, events)):
        if found := _REFUSED.search(text):
            namespace = workload["metadata"].get("namespace", "")
            what = shortened(" ".join(found[2].split()), LONGEST)
            return (
                f"{workload['kind']} {workload['metadata']['name']}: Pod Security {found[1]} forbids its pods ({what});"
                f" kubectl label namespace {namespace} pod-security.kubernetes.io/enforce=privileged --overwrite"
            )
    return ""


def _of_conditions(workload: Object) -> list[str]:
    return [
        str(each.get("message") or "")
        for each in (workload.get("status") or {}).get("conditions") or ()
        if each.get("type") == "ReplicaFailure" and each.get("status") == "True"
    ]


def _of_events(workload: Object, events: Iterable[Object]) -> list[str]:
    if not may_be_refused(workload):
        return []
    uid = workload["metadata"].get("uid")
    own = [each for each in events if (each.get("involvedObject") or {}).get("uid") == uid]
    # Events outlive the refusal, so those before the last creation are ignored. A StatefulSet creates its next pod only
    # when the previous one is ready.
    created = max((_last(each) for each in own if each.get("reason") == "SuccessfulCreate"), default="")
    failed = (each for each in own if each.get("reason") == "FailedCreate" and _last(each) >= created)
    return [str(each.get("message") or "") for each in failed]


def _last(event: Object) -> str:
    """When an Event happened last, as RFC 3339 in UTC."""
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")
