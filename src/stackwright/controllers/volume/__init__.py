"""Local volumes: directories of this node as PersistentVolumes, created for a claim and removed after its deletion.

The controllers run once per node in their own program (`stackwright provisioner`). They change only volumes of their
node and provisioner, below their path. The order of steps tolerates a crash: a directory is created before its
PersistentVolume, and deleted before it, so every unfinished step can be found in the API again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from stackwright.api.kinds import PV, PVC, STORAGE_CLASS
from stackwright.controllers.volume.decide import decide_claim, decide_volume
from stackwright.controllers.volume.objects import HOSTNAME, Place, volume_name
from stackwright.controllers.volume.observe import observe_claim, observe_volume
from stackwright.core.controller import Controller, Lookup, Watch
from stackwright.core.objects import key_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Directories

__all__ = ["HOSTNAME", "Place", "controllers"]

ROLE = "provisioner"


def _claims_of_class(obj: Object, lookup: Lookup) -> Iterable[Key]:
    name = obj["metadata"]["name"]
    return [key_of(claim) for claim in lookup(PVC, "") if claim["spec"].get("storageClassName") == name]


def _claim_of_volume(obj: Object, lookup: Lookup) -> Iterable[Key]:
    claim = obj["spec"].get("claimRef")
    return [(claim["namespace"], claim["name"])] if claim else []


def _volume_of_claim(obj: Object, lookup: Lookup) -> Iterable[Key]:
    return [("", volume_name(obj["metadata"]["uid"]))]


def controllers(place: Place, directories: Directories) -> tuple[Controller, ...]:
    """One controller creates volumes for claims, the other removes volumes of deleted claims."""
    watches = (Watch(STORAGE_CLASS, _claims_of_class), Watch(PV, _claim_of_volume))
    look = partial(observe_claim, place)
    makes = Controller("volume", ROLE, PVC, watches, look, decide_claim, reports=False)
    look_after = partial(observe_volume, place, directories)
    removes = Controller("reclaim", ROLE, PV, (Watch(PVC, _volume_of_claim),), look_after, decide_volume, reports=False)
    return (makes, removes)
