"""status.health of an OpenStackDeployment: application → component → Ready or Unhealthy, with the cause.

Watches of Pods drive it: a change of a Pod changes the status of its workload and thereby the health.
"""

from __future__ import annotations

from stackwright.api.kinds import POD, WORKLOADS
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.health.decide import decide
from stackwright.controllers.health.observe import observe
from stackwright.core.controller import Controller, Watch, all_in_namespace


def controller() -> Controller:
    kind = OpenStackDeployment.KIND
    watches = tuple(Watch(watched, all_in_namespace(kind)) for watched in (*WORKLOADS, POD))
    return Controller("health", "health", kind, watches, observe, decide, owns_ready=False, forecast=False)
