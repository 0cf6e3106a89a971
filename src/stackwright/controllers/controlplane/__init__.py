"""OpenStackControlPlane → the service objects that an OpenStackDeployment stands for; their state → its conditions.

This is the second entry: it is read as the OpenStackDeployment that says the same (`objects.py`), and the rest is the
cloud controller's own code. One namespace takes one entry of either kind; the later one stands back.
"""

from __future__ import annotations

from functools import partial

from stackwright.api.cloud.controlplane import OpenStackControlPlane
from stackwright.controllers import cloud
from stackwright.controllers.controlplane.decide import decide
from stackwright.controllers.controlplane.observe import observe
from stackwright.core.controller import Controller
from stackwright.core.settings import Settings


def controller(settings: Settings) -> Controller:
    kind = OpenStackControlPlane.KIND
    watches = cloud.watches(kind)
    return Controller("controlplane", "osdpl", kind, watches, partial(observe, settings), decide, pausable=True)
