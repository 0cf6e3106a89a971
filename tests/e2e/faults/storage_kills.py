"""A daemon of storage is killed while volumes are created and written; nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from typing import Any

from faults.storage_faults import Daemon
from harness import eventually
from openstack.exceptions import SDKException
from storage import LIMIT, PREFIX, Storage

BATCH = 10
# Volumes requested before a kill. They are created, and observed, before the others are requested. The moment of the
# kill decides how many of the others fail.
LEAST_KEPT = 1


def kill_and_ask(storage: Storage, image: Any, daemon: Daemon) -> None:
    """Request volumes before and after the kill, alternately empty ones and clones."""
    objects, container, content = storage.sdk.object_store, f"{PREFIX}{daemon.program}", os.urandom(4096)
    objects.create_container(container)
    objects.upload_object(container, "letter", data=content)
    kept = [storage.volume(daemon.program) for _ in range(LEAST_KEPT)]
    begun = [*kept, *order(storage, image, daemon.program)]
    daemon.signal(storage, signal.SIGKILL)
    killed = time.monotonic()
    asked = [*begun, *order(storage, image, daemon.program)]
    ended = {volume.id: storage.settled(volume) for volume in asked}
    failed = {id_ for id_, status in ended.items() if status != "available"}
    before, after = (Counter(ended[volume.id] for volume in part) for part in (begun, asked[len(begun) :]))
    took = time.monotonic() - killed
    print(f"{daemon.program}: asked for before: {before}, after: {after}, {took:.0f} s after it was killed")
    assert set(ended.values()) <= {"available", "error"}
    assert failed <= ({volume.id for volume in begun} if daemon.gives_up else set())
    assert not failed & {volume.id for volume in kept}, "what was made is lost by no kill"
    there = set(storage.ceph.rbd("ls", "volumes"))
    assert {f"volume-{id_}" for id_ in ended.keys() - failed} <= there
    eventually(lambda: read(storage, container) == content, limit=60, pause=1)
    forget(storage, failed)


def order(storage: Storage, image: Any, name: str) -> list[Any]:
    """Requests volumes without a wait."""
    return [storage.begin(name, **({"image_id": image.id} if number % 2 else {})) for number in range(BATCH)]


def forget(storage: Storage, failed: set[str]) -> None:
    """Delete volumes that a kill left in error, as their owner."""

    def gone() -> bool:
        left = [volume for volume in storage.blocks.volumes() if volume.id in failed]
        for volume in left:
            if volume.status != "deleting":  # Ceph may block one until the session of the killed program expires
                storage.blocks.delete_volume(volume)
        return not left

    eventually(gone, LIMIT, pause=1)


def read(storage: Storage, container: str) -> bytes:
    try:
        return bytes(storage.sdk.object_store.download_object("letter", container))
    except SDKException as failed:  # the gateway has not recovered yet
        raise AssertionError(str(failed)) from failed
