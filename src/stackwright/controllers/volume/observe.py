"""Reads a claim with its class and volume, or a volume with its claim and directory."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.kinds import PV, PVC, STORAGE_CLASS
from stackwright.controllers.volume.objects import Place, ours, volume_name
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Directories, Reader


@dataclass(frozen=True)
class Claim:
    place: Place
    obj: Object
    storage_class: Object | None = None
    volume: Object | None = None


@dataclass(frozen=True)
class Volume:
    """path       expected path of its directory; a directory elsewhere must not be changed
    directory  whether the directory exists
    """

    place: Place
    obj: Object
    path: str = ""
    claim: Object | None = None
    directory: bool = False


async def observe_claim(place: Place, reader: Reader, key: Key, now: float) -> Claim | None:
    obj = await reader.get(PVC, key)
    if obj is None:
        return None
    storage_class = await reader.get(STORAGE_CLASS, ("", obj["spec"].get("storageClassName") or ""))
    volume = await reader.get(PV, ("", volume_name(obj["metadata"]["uid"])))
    return Claim(place, obj, storage_class, volume)


async def observe_volume(place: Place, directories: Directories, reader: Reader, key: Key, now: float) -> Volume | None:
    obj = await reader.get(PV, key)
    reference = ((obj or {}).get("spec") or {}).get("claimRef") or {}
    if obj is None or not ours(place, obj) or not reference.get("uid"):  # a restored volume has none until it is bound
        return None
    claim = await reader.get(PVC, (reference["namespace"], reference["name"]))
    if claim and claim["metadata"]["uid"] != reference["uid"]:
        claim = None  # another claim, created later with the same name
    path = place.directory(reference["uid"])
    return Volume(place, obj, path, claim, await directories.holds(path))
