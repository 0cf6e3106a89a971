"""(claim, class, volume) → a new volume; (volume, claim, directory) → its removal. Pure.

A volume is removed only if all of these hold: it belongs to this provisioner and node, its claim is deleted, it is
Released, its policy is Delete, and its directory is exactly the one that this provisioner creates for it.
"""

from __future__ import annotations

from stackwright.api.kinds import PV
from stackwright.controllers.volume.objects import PROVISIONER, volume
from stackwright.controllers.volume.observe import Claim, Volume
from stackwright.core.objects import annotation, is_deleting, key_of
from stackwright.core.plan import Apply, Delete, MakeDirectory, Object, Plan, RemoveDirectory, Warn

SELECTED_NODE = "volume.kubernetes.io/selected-node"
MODES = ("ReadWriteOnce", "ReadWriteOncePod")


def decide_claim(seen: Claim) -> Plan:
    if seen.storage_class is None or seen.volume is not None or not _asked_here(seen):
        return Plan()
    if problem := _unfit(seen.obj["spec"]):
        text = f"{problem}; a volume of class {seen.storage_class['metadata']['name']} is a directory of one node"
        return Plan((Warn(seen.obj, "CannotProvision", text),))
    wanted = volume(seen.place, seen.obj, seen.storage_class)
    why = f"for PersistentVolumeClaim {'/'.join(key_of(seen.obj))}"
    return Plan((MakeDirectory(wanted["spec"]["local"]["path"], why), Apply(PV, wanted, why)))


def _asked_here(seen: Claim) -> bool:
    """Whether the scheduler has chosen this node for the claim, and no volume is bound to the claim yet."""
    return bool(
        (seen.storage_class or {}).get("provisioner") == PROVISIONER
        and annotation(seen.obj, SELECTED_NODE) == seen.place.node
        and (seen.obj.get("status") or {}).get("phase") == "Pending"
        and not seen.obj["spec"].get("volumeName")
        and not is_deleting(seen.obj)
    )


def _unfit(spec: Object) -> str:
    """Fields of the claim that a directory cannot satisfy."""
    if refused := [mode for mode in spec["accessModes"] if mode not in MODES]:
        return f"spec.accessModes: {', '.join(refused)} not supported; allowed: {' and '.join(MODES)}"
    if spec.get("volumeMode", "Filesystem") != "Filesystem":
        return "spec.volumeMode: not supported; allowed: Filesystem"
    for name in ("selector", "dataSource", "dataSourceRef"):
        if spec.get(name):
            return f"spec.{name}: not supported; remove it"
    return ""


def decide_volume(seen: Volume) -> Plan:
    spec, phase = seen.obj["spec"], (seen.obj.get("status") or {}).get("phase")
    path = (spec.get("local") or {}).get("path")
    release = phase == "Released" and spec.get("persistentVolumeReclaimPolicy") == "Delete" and seen.claim is None
    if path != seen.path:
        text = f"Directory {path} is not {seen.path}, so it was not deleted; remove it and this volume by hand"
        return Plan((Warn(seen.obj, "ForeignDirectory", text),)) if release else Plan()
    if release:
        why = f"its claim {spec['claimRef']['namespace']}/{spec['claimRef']['name']} was deleted"
        return Plan((RemoveDirectory(seen.path, why), Delete(PV, key_of(seen.obj), why)))
    if seen.directory or is_deleting(seen.obj) or phase == "Released":
        return Plan()
    # It was created before the volume, so its disk is not mounted or it was deleted: a new one would hide that.
    text = f"Directory {path} is missing on node {seen.place.node}; mount or restore it, or delete the claim"
    return Plan((Warn(seen.obj, "DirectoryMissing", text),))
