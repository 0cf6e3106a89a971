"""OpenStackFloatingIPPool: floating IPs for Cluster API's IPAddressClaims, of which each gets an IPAddress."""

from __future__ import annotations

from functools import partial

from stackwright.controllers.floatingippool.decide import decide
from stackwright.controllers.floatingippool.observe import KIND, NAME, observe
from stackwright.core.controller import Controller
from stackwright.core.openstack.clouds import Clouds


def controller(clouds: Clouds) -> Controller:
    """Claims may not be installed, so they are read and not watched."""
    return Controller(NAME, "servers", KIND, (), partial(observe, clouds), decide, remote=True)
