"""Turns an OpenStackDeployment into service objects, one per service, and reports their states in its conditions."""

from __future__ import annotations

from functools import partial

from stackwright.api.kinds import DAEMONSET, NODE, POD, SECRET
from stackwright.api.meta import Kind
from stackwright.api.services.contracts import CephClient
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import SERVICE_KINDS
from stackwright.controllers.cloud.decide import decide
from stackwright.controllers.cloud.observe import CLOUDS, observe
from stackwright.core.controller import ByOwner, Controller, Keys, Watch, all_in_namespace
from stackwright.core.kubernetes import precache
from stackwright.core.objects import key_of, label
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.settings import Settings
from stackwright.services.ingress.features import GIVEN


def _by_holder(kind: Kind) -> Keys:
    """Maps the DaemonSet that keeps images on the nodes, and its pods, to the clouds of their namespace."""
    every = all_in_namespace(kind)
    return lambda obj, lookup: every(obj, lookup) if label(obj, "application") == precache.NAME else ()


def _by_certificate(kind: Kind) -> Keys:
    """The cloud that owns a Secret of certificates."""
    owner = ByOwner(kind.kind)
    return lambda obj, lookup: owner(obj, lookup) if key_of(obj)[1] == GIVEN else ()


def watches(kind: Kind) -> tuple[Watch, ...]:
    """The watches for the clouds of a kind."""
    # Watch other clouds as well: a blocked cloud continues when the older one is deleted.
    watched = (*CLOUDS, *(resource.KIND for resource in SERVICE_KINDS), CephClient.KIND, NODE)
    return (
        *(Watch(each, all_in_namespace(kind)) for each in watched),
        *(Watch(each, _by_holder(kind)) for each in (DAEMONSET, POD)),
        Watch(SECRET, _by_certificate(kind)),
    )


def controller(settings: Settings) -> Controller:
    kind = OpenStackDeployment.KIND
    return Controller("cloud", "osdpl", kind, watches(kind), partial(observe, settings), decide, pause=STACKWRIGHT)
