"""The volume chain: image, volume, machine, snapshot, backup, restored volume, machine."""

from __future__ import annotations

import time
from typing import Any

from storage import PREFIX, Storage
from vms import Vm

BACKUP_LIMIT = 900
GIB = 1 << 30


def test_a_volume_from_an_image_is_a_clone_that_shares_its_data(storage: Storage, raw: Any) -> None:
    start = time.monotonic()
    volume = storage.volume("clone", image_id=raw.id)
    print(f"volume from an image of {raw.size >> 20} MiB: {time.monotonic() - start:.1f} s")
    name = storage.image_of(volume)
    parent = storage.ceph.rbd("info", name)["parent"]
    assert (parent["pool"], parent["image"]) == ("images", raw.id)
    children = storage.ceph.rbd("children", f"images/{raw.id}@{parent['snapshot']}")
    assert f"volume-{volume.id}" in {child["image"] for child in children}
    (used,) = storage.ceph.rbd("du", name)["images"]
    assert used["provisioned_size"] == GIB
    assert used["used_size"] == 0, "nothing was copied"


def test_a_machine_boots_from_a_volume(storage: Storage, root: Any, booted: Vm) -> None:
    assert storage.vms.ssh(booted, "hostname") == f"{PREFIX}booted"
    assert storage.vms.ssh(booted, "cat /sys/block/vda/serial") == root.id[:20]
    (attached,) = storage.blocks.get_volume(root.id).attachments
    assert attached["server_id"] == booted.id


def test_a_machine_boots_from_a_backup_restored_from_object_storage(storage: Storage, root: Any, booted: Vm) -> None:
    """Image → volume → machine → snapshot → backup → restored volume → machine."""
    blocks, ssh = storage.blocks, storage.vms.ssh
    ssh(booted, "echo kept >/var/kept; sync")
    snapshot = storage.ready(blocks.create_snapshot(name=f"{PREFIX}taken", volume_id=root.id, is_forced=True))
    ssh(booted, "echo later >/var/kept; sync")
    start, container = time.monotonic(), f"{PREFIX}backups"
    order = {"name": f"{PREFIX}saved", "volume_id": root.id, "snapshot_id": snapshot.id, "container": container}
    backup = storage.ready(blocks.create_backup(**order), limit=BACKUP_LIMIT)
    print(f"backup of a volume of 1 GiB to the object store: {time.monotonic() - start:.0f} s")
    objects = list(storage.sdk.object_store.objects(container))
    assert len(objects) >= backup.object_count > 0
    start = time.monotonic()
    asked = blocks.restore_backup(backup, name=f"{PREFIX}restored")
    restored = storage.ready(blocks.get_volume(asked.volume_id), limit=BACKUP_LIMIT)
    print(f"restored into a new volume: {time.monotonic() - start:.0f} s")
    assert "parent" not in storage.ceph.rbd("info", storage.image_of(restored)), "it stands for itself"
    vm = storage.machine("second", restored)
    try:
        assert ssh(vm, "cat /var/kept") == "kept"
        assert ssh(booted, "cat /var/kept") == "later"
    finally:
        storage.vms.delete(vm)
