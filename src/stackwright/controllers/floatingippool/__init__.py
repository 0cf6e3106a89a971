"""OpenStackFloatingIPPool: provides floating IPs to Cluster API's IPAddressClaims, one IPAddress for each."""

from __future__ import annotations

from functools import partial

from stackwright.controllers.floatingippool.decide import decide
from stackwright.controllers.floatingippool.observe import KIND, NAME, observe
from stackwright.core.controller import Controller
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.pausing import CLUSTER_API


def controller(clouds: Clouds) -> Controller:
    """The controller does not watch claims: their kind may not be installed, so it polls them."""
    return Controller(NAME, "servers", KIND, (), partial(observe, clouds), decide, remote=True, pause=CLUSTER_API)
