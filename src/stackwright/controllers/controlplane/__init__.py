"""Turns an OpenStackControlPlane into the service objects of a cloud, and reports their states in its conditions.

The object is converted to the equivalent OpenStackDeploymentSpec (`objects.py`); the rest is the cloud controller's
code. A namespace can have one cloud of either kind; a later one is blocked.
"""

from __future__ import annotations

from functools import partial

from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.controllers import cloud
from stackwright.controllers.controlplane.decide import decide
from stackwright.controllers.controlplane.observe import observe
from stackwright.core.controller import Controller
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.settings import Settings


def controller(settings: Settings) -> Controller:
    kind = OpenStackControlPlane.KIND
    watches = cloud.watches(kind)
    return Controller("controlplane", "osdpl", kind, watches, partial(observe, settings), decide, pause=STACKWRIGHT)
