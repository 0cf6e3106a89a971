"""All controllers, with the role (container of the operator's pod) that runs each of them."""

from __future__ import annotations

import time

from stackwright.controllers import (
    capicluster,
    ceph,
    cephclient,
    cloud,
    contract,
    controlplane,
    floatingippool,
    health,
    helmbundle,
    machine,
    node,
    primary,
    revision,
    server,
    service,
)
from stackwright.core.ages import Ages
from stackwright.core.controller import ROLES, Controller
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.ports import NO_CLOUDS, UNCHECKED, Accounts, Reader
from stackwright.core.settings import Settings
from stackwright.services.registry import SERVICES


def controllers(
    settings: Settings,
    roles: tuple[str, ...] = ROLES,
    clouds: Clouds = NO_CLOUDS,
    accounts: Accounts = UNCHECKED,
    ages: Ages | None = None,
    direct: Reader | None = None,
) -> tuple[Controller, ...]:
    """The controllers of the given roles.

    clouds    access to OpenStack clouds, for controllers that manage resources in them
    accounts  check of the contract controllers whether their accounts still exist at the provider
    ages      measures how long an object has been unchanged
    direct    reads the cluster without a cache; None if the controllers get such a reader anyway
    """
    every = (
        cloud.controller(settings),
        controlplane.controller(settings),
        *(service.controller(declared, settings) for declared in SERVICES),
        *helmbundle.controllers(settings, ages or Ages(time.monotonic), direct),
        *contract.controllers(accounts),
        cephclient.controller(),
        ceph.controller(),
        health.controller(),
        primary.controller(),
        *revision.controllers(),
        node.controller(),
        server.controller(clouds),
        machine.controller(),
        capicluster.controller(clouds),
        floatingippool.controller(clouds),
    )
    return tuple(each for each in every if each.role in roles)
