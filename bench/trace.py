"""What a cloud did while it came up, from the times that Kubernetes keeps, and the chain that decided how long it took.

A span is the life of one piece of work until it was done: a Job from start to completion, a pod of a service from its
creation until it was Ready. Contracts (a database, an account, a Keystone service) have none: they are asked for at the
very beginning, and most of their time is waiting for a server. Kubernetes keeps whole seconds.

The critical path is found backwards: what ended last; what ended last before that began; and so on. So it needs no
knowledge of who waits for whom, and where two ended in the same second it may name the wrong one. Work that waits
inside its own pod, as a Job does that begins by waiting for an API, hides what it waited for.
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
    """Times are seconds since the epoch."""

    name: str
    start: float
    end: float

    def shown(self, origin: float) -> str:
        return f"{self.name} {self.start - origin:.0f}-{self.end - origin:.0f}"


def spans(client: Api) -> list[Span]:
    """Of the cloud's namespace, in order of their ends."""
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
    """Not of a Job: the Job itself tells more."""
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
    """From the first to the last of the chain."""
    left = [span for span in found if span.end > span.start]
    chain: list[Span] = []
    limit = max((span.end for span in left), default=0.0)
    while before := [span for span in left if span.end <= limit + SLACK and span.start < limit]:
        # Of several that ended together, the one that took longest is the likelier cause.
        chain.append(max(before, key=lambda span: (span.end, span.end - span.start)))
        left.remove(chain[-1])
        limit = chain[-1].start
    return chain[::-1]


def told(chain: list[Span], origin: float) -> str:
    """For a note: who, from when to when, in seconds since the origin."""
    return ", ".join(span.shown(origin) for span in chain)


def _listed(client: Api, path: str) -> list[dict[str, Any]]:
    return list((client.get(path) or {}).get("items", []))


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
