"""Builds the PersistentVolume of a claim, and recognises our own ones. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.kinds import PV
from stackwright.api.meta import OURS
from stackwright.core.objects import MANAGED, annotation
from stackwright.core.plan import Object

PROVISIONER = f"{OURS}/local-volume"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Place:
    """node      name of this node, as the scheduler writes it on a claim
    hostname  value of its label kubernetes.io/hostname, which binds a volume to the node
    path      directory of the volumes
    """

    node: str
    hostname: str
    path: str

    def directory(self, uid: str) -> str:
        return f"{self.path.rstrip('/')}/{uid}"

    @property
    def affinity(self) -> Object:
        expression = {"key": HOSTNAME, "operator": "In", "values": [self.hostname]}
        return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def volume_name(uid: str) -> str:
    return f"pvc-{uid}"


def volume(place: Place, claim: Object, storage_class: Object) -> Object:
    """The volume of a claim. Without the annotation `provisioned-by`, Kubernetes would try to reclaim it itself."""
    meta, spec = claim["metadata"], claim["spec"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    reference |= {name: meta[name] for name in ("namespace", "name", "uid")}
    body = {
        "capacity": {"storage": spec["resources"]["requests"]["storage"]},
        "accessModes": list(spec["accessModes"]),
        "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "storageClassName": storage_class["metadata"]["name"],
        "claimRef": reference,
        "local": {"path": place.directory(meta["uid"])},
        "nodeAffinity": place.affinity,
    }
    if options := storage_class.get("mountOptions"):
        body["mountOptions"] = list(options)
    identity = {"name": volume_name(meta["uid"]), "labels": dict(MANAGED), "annotations": {PROVISIONED_BY: PROVISIONER}}
    return {"apiVersion": PV.api_version, "kind": PV.kind, "metadata": identity, "spec": body}


def ours(place: Place, obj: Object) -> bool:
    """Whether this provisioner created the PersistentVolume on this node."""
    return annotation(obj, PROVISIONED_BY) == PROVISIONER and obj["spec"].get("nodeAffinity") == place.affinity
