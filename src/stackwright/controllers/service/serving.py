"""Whether what others have accounts at answers them, whole or not: two of three servers of MariaDB serve. Pure.

What is Ready serves. What has never been Ready does not, though its pods may answer: Keystone knows nobody before its
bootstrap has ended. Later it serves as long as one of the pods that answer is ready. None of this counts for Ready.
"""

from __future__ import annotations

from stackwright.controllers.service.observe import Observed
from stackwright.core.conditions import SERVING, Condition, done, waiting
from stackwright.core.kubernetes.workload_health import pod_cause, pod_ready
from stackwright.core.plan import Object


def serving(seen: Observed, ready: Condition) -> tuple[Condition, ...]:
    """The condition; none for a service at which nobody has an account."""
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
