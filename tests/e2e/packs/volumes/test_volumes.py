"""Volumes in Ceph: grown, retyped, shared, moved between machines, with their content."""

from __future__ import annotations

from typing import Any

from harness import eventually
from storage import Storage
from traffic.writer import writing
from vms import Vm

GIB = 1 << 30
LIMITED = 200  # limit of the example's type


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


def test_a_retyped_volume_keeps_its_data_and_is_limited(storage: Storage, booted: Vm) -> None:
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
    """A volume type of the example."""
    return next(kind for kind in storage.blocks.types() if kind.name == name)


def limit_of(storage: Storage, volume: Any) -> int:
    """Reads and writes per second in the options of RBD."""
    options = storage.ceph.rbd("config", "image", "ls", storage.image_of(volume))
    return int(next(option["value"] for option in options if option["name"] == "rbd_qos_iops_limit"))


def test_a_shared_volume_is_attached_to_two_machines(storage: Storage, booted: Vm) -> None:
    vms, volume = storage.vms, storage.volume("shared", volume_type=blocks_type(storage, "shared").name)
    demo = vms.demo
    one, two = storage.attach(booted, volume), storage.attach(demo, volume)
    sum_ = storage.fill(booted, one)
    try:
        assert storage.sum(demo, two) == sum_
    finally:
        storage.detach(demo, volume, left=1)
    storage.detach(booted, volume)


def test_volumes_are_attached_and_detached_with_their_content_during_other_writes(storage: Storage, booted: Vm) -> None:
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
