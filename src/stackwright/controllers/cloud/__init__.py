"""OpenStackDeployment → one service object per service; their state → its conditions."""

from __future__ import annotations

from functools import partial

from stackwright.api.cloud.certificates import GIVEN
from stackwright.api.cloud.deployment import OpenStackDeployment
from stackwright.api.kinds import DAEMONSET, NODE, SECRET
from stackwright.api.meta import Kind
from stackwright.api.registry import SERVICE_KINDS
from stackwright.controllers.cloud.decide import decide
from stackwright.controllers.cloud.observe import CLOUDS, observe
from stackwright.core import precache
from stackwright.core.controller import ByOwner, Controller, Keys, Watch, all_in_namespace
from stackwright.core.objects import key_of, label
from stackwright.core.settings import Settings


def _by_holder(kind: Kind) -> Keys:
    """The clouds of the namespace whose images a DaemonSet holds."""
    every = all_in_namespace(kind)
    return lambda obj, lookup: every(obj, lookup) if label(obj, "application") == precache.NAME else ()


def _by_certificate(kind: Kind) -> Keys:
    """The cloud whose certificates a Secret has."""
    owner = ByOwner(kind.kind)
    return lambda obj, lookup: owner(obj, lookup) if key_of(obj)[1] == GIVEN else ()


def watches(kind: Kind) -> tuple[Watch, ...]:
    """What concerns the clouds of a kind."""
    # Clouds too: one that had to stand back goes on when the one before it is gone.
    watched = (*CLOUDS, *(resource.KIND for resource in SERVICE_KINDS), NODE)
    return (
        *(Watch(each, all_in_namespace(kind)) for each in watched),
        Watch(DAEMONSET, _by_holder(kind)),
        Watch(SECRET, _by_certificate(kind)),
    )


def controller(settings: Settings) -> Controller:
    kind = OpenStackDeployment.KIND
    return Controller("cloud", "osdpl", kind, watches(kind), partial(observe, settings), decide, pausable=True)
