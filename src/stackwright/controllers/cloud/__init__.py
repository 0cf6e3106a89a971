"""OpenStackDeployment → one service object per service; their state → its conditions."""

from __future__ import annotations

from stackwright.api.deployment import OpenStackDeployment
from stackwright.api.registry import SERVICE_KINDS
from stackwright.controllers.cloud.decide import decide
from stackwright.controllers.cloud.observe import observe
from stackwright.core.controller import Controller, Watch, all_in_namespace

CLOUD = OpenStackDeployment.KIND


def controller() -> Controller:
    watches = tuple(Watch(resource.KIND, all_in_namespace(CLOUD)) for resource in SERVICE_KINDS)
    return Controller("cloud", "osdpl", CLOUD, watches, observe, decide)
