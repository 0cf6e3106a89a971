"""Fixtures of several packs: machines, volumes, objects in a namespace."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest
from full import STACKS, FullCloud
from infra import Infra, namespace, project
from servers import KIND
from storage import Storage
from traffic.writer import Writer, writing
from two_nodes import two_machines
from vms import Vm, Vms

KEPT = "kept"  # the volume that a machine writes to


# ---- virtual machines


@pytest.fixture(scope="module")
def pair(full_cloud: FullCloud, vms: Vms) -> Iterator[tuple[Vm, Vm]]:
    """One machine on each of two nodes."""
    full_cloud.stackwright("up", "--nodes", "2", limit=900)
    full_cloud.wait_ready()
    # The cloud discovers the new node without a command.
    script = base64.b64encode(b"#!/bin/sh\necho user data of one\n").decode()

    def begin() -> list[Vm]:
        return [vms.begin("one", "node1", user_data=script), vms.begin("two", "node2", config_drive=True)]

    with two_machines(vms, {"node1", "node2"}, begin) as made:
        yield made


# ---- stacks


@pytest.fixture(scope="module")
def heat_cloud(full_cloud: FullCloud) -> Iterator[FullCloud]:
    """The same cloud with Heat."""
    with full_cloud.changed_to(STACKS) as made:
        yield made


# ---- storage


@pytest.fixture(scope="module")
def raw(storage: Storage) -> Any:
    """An image that Ceph clones."""
    return storage.raw_image("raw")


@pytest.fixture(scope="module")
def root(storage: Storage, raw: Any) -> Any:
    """The disk of `booted`, a clone of the image."""
    return storage.volume("root", image_id=raw.id)


@pytest.fixture(scope="module")
def booted(storage: Storage, root: Any) -> Iterator[Vm]:
    start = time.monotonic()
    vm = storage.machine("booted", root)
    print(f"boot from a volume to a login: {time.monotonic() - start:.0f} s")
    yield vm
    storage.vms.delete(vm)
    storage.sweep()


@pytest.fixture(scope="module")
def writer_vm(storage: Storage) -> Iterator[tuple[Vm, str]]:
    """A machine with a volume, and the volume's device."""
    vm = storage.machine("keeper")
    yield vm, storage.attach(vm, storage.volume(KEPT))
    storage.vms.delete(vm)
    storage.sweep()


@pytest.fixture
def writer(storage: Storage, writer_vm: tuple[Vm, str]) -> Iterator[Writer]:
    """A continuous writer; at the end all data must exist, and no write may have failed."""
    with writing(storage.vms, *writer_vm) as made:
        yield made
        made.goes_on()
        written = made.end()
        print(written)
        assert written.sound, written


@pytest.fixture
def undisturbed(storage: Storage) -> Iterator[None]:
    """The cloud is ready before and after a test, and volumes are only those that a machine writes to."""
    storage.cloud.wait_ready()
    yield
    storage.cloud.wait_ready()
    storage.sweep_volumes(but=KEPT)


# ---- servers and clusters as objects


@pytest.fixture(scope="module")
def infra(storage_cloud: FullCloud, storage: Storage) -> Iterator[Infra]:
    """The administrator's project."""
    with namespace(storage_cloud, storage_cloud.stackwright("openrc", "--format", "secret")):
        made = Infra(storage_cloud, storage.sdk)
        before = made.there()
        yield made
        made.delete(KIND)
        made.only(before)


@pytest.fixture(scope="module")
def member(storage_cloud: FullCloud, storage: Storage) -> Iterator[Infra]:
    """A separate project, as a user who is a member of it."""
    with project(storage_cloud, storage.vms) as made:
        yield made
