"""The cause of an unready workload in one sentence, from its status and that of its pods; root causes of several. Pure.

The most specific cause comes first: a container that cannot start explains more than "0 of 1 ready".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stackwright.api.errors import shortened
from stackwright.core.conditions import is_true
from stackwright.core.kubernetes import pulls

Object = Mapping[str, Any]
_QUIET = {"ContainerCreating", "PodInitializing"}
_STUCK = {"CrashLoopBackOff", "CreateContainerConfigError", *pulls.WAITING}


class Problem(NamedTuple):
    """Why an object is not ready. link  what joins subject and text to a sentence"""

    subject: str
    link: str
    text: str

    def __str__(self) -> str:
        return "".join(self)


def workload_ready(obj: Object) -> bool:
    """Whether a Deployment, StatefulSet, DaemonSet or Job has converged: all pods are updated and ready."""
    status, spec = obj.get("status") or {}, obj.get("spec") or {}
    if obj["kind"] == "Job":
        return bool((status.get("succeeded") or 0) >= (spec.get("completions") or 1))
    if not is_observed(obj):
        return False
    if obj["kind"] == "DaemonSet":
        wanted = status.get("desiredNumberScheduled") or 0
        return _all(status, wanted, "updatedNumberScheduled", "numberReady")
    wanted = 1 if spec.get("replicas") is None else spec["replicas"]
    if obj["kind"] == "StatefulSet" and status.get("updateRevision") != status.get("currentRevision"):
        return False
    if obj["kind"] == "StatefulSet":
        return _all(status, wanted, "readyReplicas")
    return _all(status, wanted, "updatedReplicas", "readyReplicas") and (status.get("replicas") or 0) == wanted


def is_observed(workload: Object) -> bool:
    """Whether the status belongs to the current spec; the status of a Job has no observed generation."""
    seen = (workload.get("status") or {}).get("observedGeneration") or 0
    return workload["kind"] == "Job" or bool(seen >= (workload["metadata"].get("generation") or 0))


def _all(status: Object, wanted: int, *fields: str) -> bool:
    return all((status.get(field) or 0) >= wanted for field in fields)


def why(workload: Object, pods: Sequence[Object]) -> str:
    """One sentence about a workload that is not ready; `pods` are the pods of its selector."""
    return f"{workload['kind']} {workload['metadata']['name']}: {workload_cause(workload, pods)}"


def workload_cause(workload: Object, pods: Sequence[Object]) -> str:
    """Like `why`, but without the name of the workload."""
    for pod in sorted(pods, key=lambda p: str(p["metadata"]["name"])):
        if cause := pod_cause(pod):
            return cause
    status, spec = workload.get("status") or {}, workload.get("spec") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") in ("ReplicaFailure", "Failed") and condition.get("status") == "True":
            return f"{condition.get('message')}"
    if workload["kind"] == "Job":
        return "failed before, retrying" if status.get("failed") else "running"
    if workload["kind"] == "DaemonSet":
        return f"{status.get('numberReady') or 0} of {status.get('desiredNumberScheduled') or 0} pods ready"
    wanted = 1 if spec.get("replicas") is None else spec["replicas"]
    return f"{status.get('readyReplicas') or 0} of {wanted} pods ready"


def pod_ready(pod: Object) -> bool:
    """Whether a pod is Ready and not being deleted."""
    return is_true(pod) and not pod["metadata"].get("deletionTimestamp")


def pod_cause(pod: Object) -> str:
    """Why a pod is not ready, in one sentence; empty if it is ready or no specific cause is known."""
    return str(pod_problem(pod) or "")


def pod_problem(pod: Object) -> Problem | None:
    """Why a pod is not ready; None if it is ready or no specific cause is known."""
    meta, status = pod["metadata"], pod.get("status") or {}
    subject = f"Pod {meta['name']}"
    if meta.get("deletionTimestamp"):
        return Problem(subject, " ", "is terminating")
    if failure := pod_failure(pod):
        return failure
    ready = _conditions(status).get("Ready") or {}
    if status.get("phase") == "Running" and ready.get("status") == "False" and not _all_done(status):
        node = (pod.get("spec") or {}).get("nodeName", "")
        if ready.get("reason") == "NodeNotReady" or status.get("reason") == "NodeLost":
            return Problem(subject, ": ", f"node {node} does not respond")
        return Problem(subject, " ", "is running but not ready: its readiness probe fails")
    return None


def pod_failure(pod: Object) -> Problem | None:
    """Why a pod does not run: it failed or cannot be scheduled, or one of its containers failed or cannot start."""
    status, subject = pod.get("status") or {}, f"Pod {pod['metadata']['name']}"
    if status.get("phase") == "Failed" and status.get("message"):
        return Problem(subject, ": ", str(status["message"]))
    scheduled = _conditions(status).get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return Problem(subject, " ", f"cannot be scheduled: {scheduled.get('message', '')}")
    for container in _containers(status):
        if cause := _container_cause(container, str((pod.get("spec") or {}).get("nodeName") or "")):
            return Problem(subject, ", ", f"container {container['name']}: {cause}")
    return None


def is_stuck(pod: Object) -> bool:
    """Whether the problem that `pod_problem` returns probably needs a user: Kubernetes alone does not resolve it."""
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or (status.get("phase") == "Failed" and status.get("message")):
        return False
    if any(c["type"] == "PodScheduled" and c["status"] == "False" for c in status.get("conditions") or ()):
        return True
    first = next((each for each in _containers(status) if _container_cause(each)), {})
    return ((first.get("state") or {}).get("waiting") or {}).get("reason") in _STUCK


def _conditions(status: Object) -> dict[str, Object]:
    return {each["type"]: each for each in status.get("conditions") or ()}


def _containers(status: Object) -> list[Object]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _all_done(status: Object) -> bool:
    states = [c.get("state") or {} for c in status.get("containerStatuses") or ()]
    return bool(states) and all("terminated" in state for state in states)


def _container_cause(container: Object, node: str = "") -> str:
    if failure := pulls.failure(container, node):
        return f"{failure.reason}: {failure.message}"
    state = container.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    last = (container.get("lastState") or {}).get("terminated") or {}
    if reason := waiting.get("reason"):
        if reason in _QUIET:
            return ""
        past = f"; last exit code {last['exitCode']}" if "exitCode" in last else ""
        # The termination message of the program explains more than the restart back-off.
        said = str(last.get("message") or waiting.get("message", "")).strip()
        return f"{reason}{past}: {_short(said)}".rstrip(": ")
    if ended and ended.get("exitCode"):
        said = _short(str(ended.get("message") or "").strip()) or str(ended.get("reason", ""))
        return f"terminated with exit code {ended['exitCode']} ({said})"
    return ""


def _short(text: str, limit: int = 200) -> str:
    """A kubelet message without pod UID and back-off, which vary, cut to `limit` characters."""
    first = text.split(" pod=", 1)[0]
    for volatile in (
        "back-off 10s",
        "back-off 20s",
        "back-off 40s",
        "back-off 1m20s",
        "back-off 2m40s",
        "back-off 5m0s",
    ):
        first = first.replace(volatile, "back-off")
    return shortened(first, limit)


def pods_of(workload: Object, pods: Iterable[Object]) -> list[Object]:
    """The pods that a workload selects by matchLabels; our charts and Jobs use no other selectors."""
    selector = ((workload.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    return [
        pod
        for pod in pods
        if selector and all((pod["metadata"].get("labels") or {}).get(k) == v for k, v in selector.items())
    ]


def causes(stuck: Mapping[str, str]) -> dict[str, str]:
    """Names → cause, without objects whose message only repeats that of another object."""
    found: dict[str, list[str]] = {}
    for name, message in stuck.items():
        if not any(other != message and other in message for other in stuck.values()):
            found.setdefault(message, []).append(name)
    return {", ".join(names): message for message, names in found.items()}
