"""OpenStackDeployment → one service object per service; their state → its conditions."""

from __future__ import annotations

from stackwright.api.deployment import OpenStackDeployment
from stackwright.api.registry import SERVICE_KINDS
from stackwright.controllers.cloud.decide import decide
from stackwright.controllers.cloud.observe import observe
from stackwright.core.controller import Controller, Watch, all_in_namespace

CLOUD = OpenStackDeployment.KIND


def controller() -> Controller:
    # Its own kind too: a cloud that had to stand back goes on when the one before it is gone.
    watched = (CLOUD, *(resource.KIND for resource in SERVICE_KINDS))
    watches = tuple(Watch(kind, all_in_namespace(CLOUD)) for kind in watched)
    return Controller("cloud", "osdpl", CLOUD, watches, observe, decide)
