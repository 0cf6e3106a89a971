"""Decides whether a provider of accounts can serve requests although it is not Ready, as MariaDB can with two of its
three servers. Pure.

A Ready object serves. An object that was never Ready does not serve, even if its pods are ready: Keystone has no users
before the end of its bootstrap. Later, an object serves while one of its pods is ready. None of this affects Ready.
"""

from __future__ import annotations

from stackwright.controllers.service.observe import Observed
from stackwright.core.conditions import SERVING, Condition, done, waiting
from stackwright.core.kubernetes.workload_health import pod_cause, pod_ready
from stackwright.core.plan import Object


def serving(seen: Observed, ready: Condition) -> tuple[Condition, ...]:
    """The condition; none for a service that does not serve accounts."""
    if not seen.declared.serves:
        return ()
    if ready.status or (_was_ready(seen) and any(_answers(seen, pod) for pod in seen.servers)):
        return (done(SERVING, reason=SERVING),)
    return (waiting(SERVING, _why(seen) if _was_ready(seen) else ready.message, "NotServing"),)


def _was_ready(seen: Observed) -> bool:
    return bool((seen.obj.get("status") or {}).get("release"))


def _answers(seen: Observed, pod: Object) -> bool:
    return seen.declared.serves.items() <= (pod["metadata"].get("labels") or {}).items() and pod_ready(pod)


def _why(seen: Observed) -> str:
    for pod in sorted(seen.servers, key=lambda each: str(each["metadata"]["name"])):
        if cause := pod_cause(pod):
            return cause
    labels = ",".join(f"{name}={value}" for name, value in seen.declared.serves.items())
    return f"no pod with {labels} is ready"
