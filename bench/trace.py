"""Timeline of a cloud's start, from the times that Kubernetes keeps, and the critical path that decided its duration.

A span is the time of one piece of work: a Job from start to completion, a service's pod from creation until Ready.
Contracts (a database, an account, a Keystone service) have none: they are requested at the very beginning and mostly
wait for a server. Kubernetes keeps whole seconds. The critical path is computed backwards: from the span that ended
last to the span that ended last before its start, and so on. So it needs no knowledge of dependencies, and if two spans
ended in the same second it may name the wrong one. If a pod waits for another one inside its containers, like a Job
that first waits for an API, the path does not contain the awaited one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stackwright.local.kubernetes.api import Api

NAMESPACE = "openstack"
SLACK = 1.0
Object = Mapping[str, Any]


@dataclass(frozen=True)
class Span:
    """Times are epoch seconds."""

    name: str
    start: float
    end: float

    def shown(self, origin: float) -> str:
        return f"{self.name} {self.start - origin:.0f}-{self.end - origin:.0f}"


def spans(client: Api) -> list[Span]:
    """Spans of the cloud's namespace, ordered by their ends."""
    found: list[Span] = []
    for job in _listed(client, f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"):
        found += job_span(job)
    for pod in _listed(client, f"/api/v1/namespaces/{NAMESPACE}/pods"):
        found += pod_span(pod)
    return sorted(found, key=lambda span: span.end)


def job_span(job: Object) -> Iterator[Span]:
    status = job.get("status", {})
    if "startTime" in status and "completionTime" in status:
        yield Span(f"Job {job['metadata']['name']}", _time(status["startTime"]), _time(status["completionTime"]))


def pod_span(pod: Object) -> Iterator[Span]:
    """The span of a pod; none for pods of Jobs, because the Job's own span is more exact."""
    meta = pod["metadata"]
    if "Job" in {owner["kind"] for owner in meta.get("ownerReferences", ())}:
        return
    labels = meta.get("labels", {})
    name = f"{labels.get('application', '')} {labels.get('component', '')}".strip() or meta["name"]
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "Ready" and condition["status"] == "True":
            start = _time(meta["creationTimestamp"])
            yield Span(name, start, max(start, _time(condition["lastTransitionTime"])))


def critical(found: Iterable[Span]) -> list[Span]:
    """The critical path, from first to last."""
    left = [span for span in found if span.end > span.start]
    chain: list[Span] = []
    limit = max((span.end for span in left), default=0.0)
    while before := [span for span in left if span.end <= limit + SLACK and span.start < limit]:
        # Of several spans with the same end, the longest is the likelier cause.
        chain.append(max(before, key=lambda span: (span.end, span.end - span.start)))
        left.remove(chain[-1])
        limit = chain[-1].start
    return chain[::-1]


def told(chain: list[Span], origin: float) -> str:
    """Text for a note: name, start and end of each span, in seconds since the origin."""
    return ", ".join(span.shown(origin) for span in chain)


def _listed(client: Api, path: str) -> list[dict[str, Any]]:
    return list((client.get(path) or {}).get("items", []))


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
