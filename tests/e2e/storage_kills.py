"""A daemon of storage is killed while volumes are made and written; nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from typing import Any

from faults import Daemon
from harness import eventually
from openstack.exceptions import SDKException
from storage import PREFIX, Storage

BATCH = 10


def kill_and_ask(storage: Storage, image: Any, daemon: Daemon) -> None:
    """Volumes are asked for before and after it, empty ones and clones in turn."""
    objects, container, content = storage.sdk.object_store, f"{PREFIX}{daemon.program}", os.urandom(4096)
    objects.create_container(container)
    objects.upload_object(container, "letter", data=content)
    begun = order(storage, image, daemon.program)
    daemon.signal(storage, signal.SIGKILL)
    killed = time.monotonic()
    asked = [*begun, *order(storage, image, daemon.program)]
    ended = {volume.id: storage.settled(volume) for volume in asked}
    failed = [id_ for id_, status in ended.items() if status != "available"]
    print(f"{daemon.program}: {Counter(ended.values())} {time.monotonic() - killed:.0f} s after it was killed")
    assert set(ended.values()) <= {"available", "error"}
    assert set(failed) <= ({volume.id for volume in begun} if daemon.gives_up else set())
    there = set(storage.ceph.rbd("ls", "volumes"))
    assert {f"volume-{id_}" for id_ in ended if id_ not in failed} <= there
    eventually(lambda: read(storage, container) == content, limit=60, pause=1)


def order(storage: Storage, image: Any, name: str) -> list[Any]:
    """Ask for volumes and wait for none."""
    return [storage.begin(name, **({"image_id": image.id} if number % 2 else {})) for number in range(BATCH)]


def read(storage: Storage, container: str) -> bytes:
    try:
        return bytes(storage.sdk.object_store.download_object("letter", container))
    except SDKException as failed:  # the gateway is not back yet
        raise AssertionError(str(failed)) from failed
