"""Decisions of the local volume provisioner: which claims it serves, and which objects it never changes."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.kinds import PV, PVC
from stackwright.controllers.volume.decide import decide_claim, decide_volume
from stackwright.controllers.volume.objects import PROVISIONED_BY, Place, ours, volume
from stackwright.controllers.volume.observe import Claim, Volume, observe_volume
from stackwright.core.helm.merge import merge
from stackwright.core.plan import Apply, Delete, MakeDirectory, Plan, RemoveDirectory, Warn
from stackwright.runtime.memory import MemoryCluster

PLACE = Place("node-1", "host-1", "/srv/volumes")
UID = "11111111-2222-4333-8444-555555555555"
PATH = f"/srv/volumes/{UID}"

Object = dict[str, Any]


def storage_class(**more: Any) -> Object:
    return {
        "metadata": {"name": "fast"},
        "provisioner": "stackwright.dev/local-volume",
        "reclaimPolicy": "Delete",
        **more,
    }


def claim(**more: Any) -> Object:
    base = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "namespace": "openstack",
            "name": "data",
            "uid": UID,
            "annotations": {"volume.kubernetes.io/selected-node": "node-1"},
        },
        "spec": {
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}},
        },
        "status": {"phase": "Pending"},
    }
    return merge(base, more)


def pv(phase: str = "Released", **more: Any) -> Object:
    return merge(volume(PLACE, claim(), storage_class()), {"status": {"phase": phase}}, more)


def look(obj: Object, *, owner: Object | None = None, directory: bool = True) -> Volume:
    return Volume(PLACE, obj, PATH, owner, directory)


def test_a_claim_on_this_node_gets_a_directory_and_then_a_volume() -> None:
    plan = decide_claim(Claim(PLACE, claim(), storage_class()))
    made, applied = plan.actions
    assert isinstance(made, MakeDirectory)
    assert made.path == PATH
    assert isinstance(applied, Apply)
    assert applied.obj == {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"pvc-{UID}",
            "labels": {"app.kubernetes.io/managed-by": "stackwright"},
            "annotations": {"pv.kubernetes.io/provisioned-by": "stackwright.dev/local-volume"},
        },
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": "fast",
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "openstack",
                "name": "data",
                "uid": UID,
            },
            "local": {"path": PATH},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "kubernetes.io/hostname", "operator": "In", "values": ["host-1"]}
                            ]
                        }
                    ]
                }
            },
        },
    }


def test_a_volume_has_the_policy_and_mount_options_of_its_class() -> None:
    spec = volume(PLACE, claim(), storage_class(reclaimPolicy="Retain", mountOptions=["noatime"]))["spec"]
    assert (spec["persistentVolumeReclaimPolicy"], spec["mountOptions"]) == ("Retain", ["noatime"])


@pytest.mark.parametrize(
    "other",
    [
        {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-2"}}},
        {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": None}}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"spec": {"volumeName": "other"}},
        {"status": {"phase": "Bound"}},
        {"status": {"phase": "Lost"}},
    ],
)
def test_another_claim_is_not_touched(other: Object) -> None:
    assert decide_claim(Claim(PLACE, claim(**other), storage_class())) == Plan()


def test_a_class_of_another_provisioner_is_not_touched() -> None:
    assert decide_claim(Claim(PLACE, claim(), storage_class(provisioner="rancher.io/local-path"))) == Plan()
    assert decide_claim(Claim(PLACE, claim(), None)) == Plan()


def test_a_claim_that_has_its_volume_needs_nothing() -> None:
    assert decide_claim(Claim(PLACE, claim(), storage_class(), pv("Pending"))) == Plan()


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"accessModes": ["ReadWriteMany"]}, "ReadWriteMany"),
        ({"volumeMode": "Block"}, "volumeMode"),
        ({"selector": {"matchLabels": {"a": "b"}}}, "selector"),
        ({"dataSource": {"kind": "VolumeSnapshot", "name": "x"}}, "dataSource"),
    ],
)
def test_unsupported_requests_of_a_claim_are_reported(asked: Object, word: str) -> None:
    (warning,) = decide_claim(Claim(PLACE, claim(spec=asked), storage_class())).actions
    assert isinstance(warning, Warn)
    assert word in warning.message


def test_a_released_volume_loses_its_directory_and_then_itself() -> None:
    removed, deleted = decide_volume(look(pv())).actions
    assert isinstance(removed, RemoveDirectory)
    assert removed.path == PATH
    assert isinstance(deleted, Delete)
    assert (deleted.kind, deleted.key) == (PV, ("", f"pvc-{UID}"))


@pytest.mark.parametrize("phase", ["Pending", "Available", "Bound", "Failed"])
def test_a_volume_that_is_not_released_is_kept(phase: str) -> None:
    assert decide_volume(look(pv(phase))) == Plan()


def test_a_retained_volume_is_kept() -> None:
    assert decide_volume(look(pv(spec={"persistentVolumeReclaimPolicy": "Retain"}))) == Plan()


def test_a_volume_with_an_existing_claim_remains() -> None:
    assert decide_volume(look(pv(), owner=claim())) == Plan()


@pytest.mark.parametrize("path", ["/etc", "/srv/volumes", f"{PATH}/..", f"/srv/volumes/../{UID}", f"{PATH}0"])
def test_a_directory_elsewhere_is_never_removed(path: str) -> None:
    (warning,) = decide_volume(look(pv(spec={"local": {"path": path}}))).actions
    assert isinstance(warning, Warn)
    assert warning.reason == "ForeignDirectory"


def test_volumes_of_other_nodes_and_provisioners_are_not_ours() -> None:
    other = Place("node-2", "host-2", PLACE.path)
    assert ours(PLACE, pv())
    assert not ours(other, pv())
    assert not ours(PLACE, pv(metadata={"annotations": {PROVISIONED_BY: "rancher.io/local-path"}}))
    assert not ours(PLACE, pv(metadata={"annotations": {PROVISIONED_BY: None}}))


@pytest.mark.parametrize("phase", ["Pending", "Available", "Bound", "Failed", "Other", None])
def test_a_lost_directory_is_reported_and_never_recreated(phase: str | None) -> None:
    """If its disk is not mounted, a new directory would be on another disk, and hidden when the disk is mounted."""
    (warning,) = decide_volume(look(pv(status={"phase": phase}), directory=False)).actions
    assert isinstance(warning, Warn)
    assert warning.reason == "DirectoryMissing"


def test_a_released_volume_without_a_directory_is_left_as_it_is() -> None:
    retained = pv(spec={"persistentVolumeReclaimPolicy": "Retain"})
    assert decide_volume(look(retained, directory=False)) == Plan()


class _NoDirectories:
    async def make(self, path: str) -> None:
        raise AssertionError

    remove = make

    async def holds(self, path: str) -> bool:
        return False


async def test_a_restored_volume_is_left_alone_until_it_is_bound() -> None:
    """Backup tools remove the UID of the former claim."""
    cluster = MemoryCluster()
    cluster.put(PVC, claim())
    restored = pv("Pending")
    reference = restored["spec"]["claimRef"]
    cluster.put(PV, merge(restored, {"spec": {"claimRef": {**reference, "uid": None}}}))
    key = ("", restored["metadata"]["name"])
    assert await observe_volume(PLACE, _NoDirectories(), cluster, key, 0.0) is None
    cluster.put(PV, restored)
    assert await observe_volume(PLACE, _NoDirectories(), cluster, key, 0.0) is not None
