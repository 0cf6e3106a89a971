"""OpenStackServer: all that a cluster's bastion and a machine have in common in an OpenStack, and nothing of theirs."""

from __future__ import annotations

from functools import partial

from stackwright.controllers.server.decide import decide
from stackwright.controllers.server.observe import KIND, NAME, observe
from stackwright.core.controller import Controller
from stackwright.core.openstack.clouds import Clouds


def controller(clouds: Clouds) -> Controller:
    return Controller(NAME, "servers", KIND, (), partial(observe, clouds), decide, remote=True)
