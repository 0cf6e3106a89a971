"""Chooses the primary of a MariaDB by four rules. Pure.

A pod becomes primary when

1. no pod is primary yet (an unready or terminating pod has lost this role),
2. it is ready,
3. it is not terminating,
4. it has the lowest ordinal among the ready pods;

all other pods are backups. A primary that still serves keeps the label when a pod with a lower ordinal is ready again,
because moving the label would close every connection.
"""

from __future__ import annotations

from stackwright.api.kinds import POD
from stackwright.controllers.primary.observe import Observed
from stackwright.core.kubernetes.workload_health import pod_ready
from stackwright.core.objects import is_deleting, key_of, label
from stackwright.core.plan import Object, Plan, SetLabel
from stackwright.services.mariadb.values import PRIMARY, ROLE


def decide(seen: Observed) -> Plan:
    servers = [pod for pod in seen.pods if _ordinal(pod) >= 0]
    able = sorted((pod for pod in servers if pod_ready(pod)), key=_ordinal)
    primary = next((pod for pod in able if label(pod, ROLE) == PRIMARY), able[0] if able else None)
    labels = []
    for pod in sorted(servers, key=_ordinal):
        role = PRIMARY if pod is primary else "backup"
        if label(pod, ROLE) != role and not is_deleting(pod):
            labels.append(SetLabel(POD, key_of(pod), ROLE, role))
    # Remove the label from the old primary first, so that two pods never accept writes.
    labels.sort(key=lambda action: action.value)
    return Plan(tuple(labels))


def _ordinal(pod: Object) -> int:
    """The number of a pod in its StatefulSet; -1 for any other pod."""
    last = str(pod["metadata"]["name"]).rsplit("-", 1)[-1]
    return int(last) if last.isdecimal() else -1
