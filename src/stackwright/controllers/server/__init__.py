"""OpenStackServer: the OpenStack resources that bastions and machines have in common, without logic of either."""

from __future__ import annotations

from functools import partial

from stackwright.controllers.server.decide import decide
from stackwright.controllers.server.observe import KIND, NAME, observe
from stackwright.core.controller import Controller
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.pausing import CLUSTER_API


def controller(clouds: Clouds) -> Controller:
    return Controller(NAME, "servers", KIND, (), partial(observe, clouds), decide, remote=True, pause=CLUSTER_API)
