"""The exchange with the provider of Ceph: our requests, credentials for its gateway, and health from `ceph-watch`."""

from __future__ import annotations

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.api.services.contracts import CephClient
from stackwright.controllers.ceph.decide import decide
from stackwright.controllers.ceph.observe import observe
from stackwright.core.controller import Controller, Watch, all_in_namespace
from stackwright.core.pausing import STACKWRIGHT
from stackwright.services.ceph.kind import Ceph
from stackwright.services.ceph_rgw.kind import CephRGW


def controller() -> Controller:
    every = all_in_namespace(Ceph.KIND)
    kinds = (CephClient.KIND, CephRGW.KIND, CONFIGMAP, SECRET)
    watches = tuple(Watch(kind, every) for kind in kinds)
    return Controller(
        "ceph-exchange",
        "secrets",
        Ceph.KIND,
        watches,
        observe,
        decide,
        owns_ready=False,
        finalizes=True,
        pause=STACKWRIGHT,
    )
