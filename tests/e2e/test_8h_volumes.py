"""Volumes in Ceph: cloned from images, booted from, copied, grown, moved between machines, with what is in them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from harness import eventually
from pinger import Pinger
from storage import PREFIX, Storage
from vms import Vm
from writer import writing

MOVE_LIMIT = 400
BACKUP_LIMIT = 900
GIB = 1 << 30
LIMITED = 200  # by the example's type


@pytest.fixture(scope="module")
def image(storage: Storage) -> Any:
    return storage.raw_image("image")


@pytest.fixture(scope="module")
def root(storage: Storage, image: Any) -> Any:
    """The disk of `booted`, a clone of the image."""
    return storage.volume("root", image_id=image.id)


@pytest.fixture(scope="module")
def booted(storage: Storage, root: Any) -> Iterator[Vm]:
    start = time.monotonic()
    vm = storage.machine("booted", root)
    print(f"boot from a volume to a login: {time.monotonic() - start:.0f} s")
    yield vm
    storage.vms.delete(vm)
    storage.sweep()


def test_a_volume_from_an_image_is_a_clone_that_shares_its_data(storage: Storage, image: Any) -> None:
    start = time.monotonic()
    volume = storage.volume("clone", image_id=image.id)
    print(f"volume from an image of {image.size >> 20} MiB: {time.monotonic() - start:.1f} s")
    name = storage.image_of(volume)
    parent = storage.ceph.rbd("info", name)["parent"]
    assert (parent["pool"], parent["image"]) == ("images", image.id)
    children = storage.ceph.rbd("children", f"images/{image.id}@{parent['snapshot']}")
    assert f"volume-{volume.id}" in {child["image"] for child in children}
    (used,) = storage.ceph.rbd("du", name)["images"]
    assert used["provisioned_size"] == GIB
    assert used["used_size"] == 0, "nothing was copied"


def test_a_machine_boots_from_a_volume(storage: Storage, root: Any, booted: Vm) -> None:
    assert storage.vms.ssh(booted, "hostname") == f"{PREFIX}booted"
    assert storage.vms.ssh(booted, "cat /sys/block/vda/serial") == root.id[:20]
    (attached,) = storage.blocks.get_volume(root.id).attachments
    assert attached["server_id"] == booted.id


def test_a_machine_boots_from_what_a_backup_in_object_storage_brought_back(
    storage: Storage, root: Any, booted: Vm
) -> None:
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


def test_volumes_grow_while_they_are_free_and_while_they_are_used(storage: Storage, booted: Vm) -> None:
    blocks, volume = storage.blocks, storage.volume("growing")
    blocks.extend_volume(volume, 2)
    assert storage.ready(volume).size == 2
    device = storage.attach(booted, volume)
    read = f"cat /sys/block/{device.removeprefix('/dev/')}/size"
    assert int(storage.vms.ssh(booted, read)) * 512 == 2 * GIB
    blocks.extend_volume(volume, 3)
    eventually(lambda: int(storage.vms.ssh(booted, read)) * 512 == 3 * GIB, limit=60, pause=1)
    assert storage.ready(volume, "in-use").size == 3
    storage.detach(booted, volume)


def test_a_volume_of_another_type_keeps_what_is_in_it_and_is_held_to_its_limit(storage: Storage, booted: Vm) -> None:
    blocks, kind = storage.blocks, blocks_type(storage, "limited")
    volume = storage.volume("retyped")
    assert volume.volume_type != kind.name
    sum_ = storage.fill(booted, storage.attach(booted, volume))
    storage.detach(booted, volume)
    blocks.retype_volume(volume, kind.name, "never")
    eventually(lambda: blocks.get_volume(volume.id).volume_type == kind.name, limit=60, pause=1)
    storage.ready(volume)
    device = storage.attach(booted, volume)
    assert storage.sum(booted, device) == sum_
    assert limit_of(storage, volume) == LIMITED
    storage.detach(booted, volume)


def blocks_type(storage: Storage, name: str) -> Any:
    """One of the example's."""
    return next(kind for kind in storage.blocks.types() if kind.name == name)


def limit_of(storage: Storage, volume: Any) -> int:
    """Reads and writes a second, as RBD is told."""
    options = storage.ceph.rbd("config", "image", "ls", storage.image_of(volume))
    return int(next(option["value"] for option in options if option["name"] == "rbd_qos_iops_limit"))


def test_a_shared_volume_is_in_two_machines_at_once(storage: Storage, booted: Vm) -> None:
    vms, volume = storage.vms, storage.volume("shared", volume_type=blocks_type(storage, "shared").name)
    demo = vms.demo
    one, two = storage.attach(booted, volume), storage.attach(demo, volume)
    sum_ = storage.fill(booted, one)
    try:
        assert storage.sum(demo, two) == sum_
    finally:
        storage.detach(demo, volume, left=1)
    storage.detach(booted, volume)


def test_volumes_come_and_go_with_their_content_while_another_one_is_written(storage: Storage, booted: Vm) -> None:
    busy, other = storage.volume("busy"), storage.volume("comes-and-goes")
    target = storage.attach(booted, busy)
    with writing(storage.vms, booted, target) as writer:
        sum_ = ""
        for _ in range(3):
            device = storage.attach(booted, other)
            if sum_:
                assert storage.sum(booted, device) == sum_
            sum_ = storage.fill(booted, device)
            storage.detach(booted, other)
        written = writer.end()
    print(f"while a volume came and went three times: {written}")
    assert written.sound, written
    storage.detach(booted, busy)


@pytest.mark.long
def test_a_machine_moves_without_its_disk_while_it_writes(storage: Storage) -> None:
    storage.two_nodes()
    compute = storage.sdk.compute
    vm = storage.machine("mover", host="node1")
    try:
        assert storage.ceph.rbd("info", f"vms/{vm.id}_disk")["size"] == GIB
        with writing(storage.vms, vm, "/var/written") as writer, Pinger(vm.floating) as pinger:
            start = time.monotonic()
            # Nova refuses to move without copying what is not in a place that both share.
            compute.live_migrate_server(vm.id, host="node2", block_migration=False)
            eventually(lambda: compute.get_server(vm.id).compute_host == "node2", limit=MOVE_LIMIT, pause=1)
            storage.vms.settled(vm, "ACTIVE", MOVE_LIMIT)
            took = time.monotonic() - start
            writer.goes_on()
            written = writer.end()
        print(f"live migration: {took:.0f} s, longest gap of pings {pinger.gap():.1f} s; {written}")
        assert written.sound, written
    finally:
        storage.vms.delete(vm)
