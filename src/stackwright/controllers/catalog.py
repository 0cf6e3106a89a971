"""All controllers, by the role (container) they run in."""

from __future__ import annotations

from stackwright.controllers import (
    ceph,
    cephclient,
    cloud,
    contract,
    controlplane,
    health,
    helmbundle,
    node,
    primary,
    service,
)
from stackwright.core.controller import Controller
from stackwright.core.settings import Settings
from stackwright.services.registry import SERVICES

ROLES = ("osdpl", "helmbundle", "health", "secrets", "node")


def controllers(settings: Settings, roles: tuple[str, ...] = ROLES) -> tuple[Controller, ...]:
    """The controllers of some roles."""
    every = (
        cloud.controller(settings),
        controlplane.controller(settings),
        *(service.controller(declared, settings) for declared in SERVICES),
        *helmbundle.controllers(settings),
        *contract.controllers(),
        cephclient.controller(),
        ceph.controller(),
        health.controller(),
        primary.controller(),
        node.controller(),
    )
    return tuple(each for each in every if each.role in roles)
