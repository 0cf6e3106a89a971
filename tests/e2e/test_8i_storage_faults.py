"""Storage in trouble: killed daemons, new keys, pools that are full or gone. It is told by name; nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from faults import DAEMONS, Daemon, full_pool, missing_pool, monitor_gone, wrong_key
from harness import eventually
from openstack.exceptions import SDKException
from storage import PREFIX, Ceph, Storage
from vms import Vm
from writer import Writer, writing

from stackwright.local import power

BATCH = 10
KEPT = "kept"  # the volume that a machine writes to
SHOWN_LIMIT = 90
NEW_KEY_LIMIT = 240
RETURN_LIMIT = 600


@pytest.fixture(autouse=True)
def _ready(storage: Storage) -> Iterator[None]:
    storage.cloud.wait_ready()
    yield
    storage.cloud.wait_ready()
    storage.sweep_volumes(but=KEPT)


@pytest.fixture(scope="module")
def image(storage: Storage) -> Any:
    return storage.raw_image("small")


@pytest.fixture(scope="module")
def writer_vm(storage: Storage) -> Iterator[tuple[Vm, str]]:
    """A machine with a volume, and the device of that."""
    vm = storage.machine("keeper")
    yield vm, storage.attach(vm, storage.volume(KEPT))
    storage.vms.delete(vm)
    storage.sweep()


@pytest.fixture
def writer(storage: Storage, writer_vm: tuple[Vm, str]) -> Iterator[Writer]:
    """It writes all the time; in the end all of it is there, and nothing failed."""
    with writing(storage.vms, *writer_vm) as made:
        yield made
        made.goes_on()
        written = made.end()
        print(written)
        assert written.sound, written


@pytest.mark.parametrize(
    "daemon",
    [pytest.param(each, marks=() if each.each_time else pytest.mark.long, id=each.program) for each in DAEMONS],
)
def test_a_killed_daemon_comes_back_and_nothing_is_lost(
    storage: Storage, image: Any, writer: Writer, daemon: Daemon
) -> None:
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


# ---- what is told


@pytest.mark.parametrize(
    ("trouble", "condition", "reason", "part"),
    [
        (full_pool, "Capacity", "PoolFull", "volumes"),
        pytest.param(wrong_key, "Keys", "WrongKey", "client.glance", marks=pytest.mark.long),
        pytest.param(missing_pool, "Pools", "MissingPool", "volumes", marks=pytest.mark.long),
        (monitor_gone, "Monitors", "NoQuorum", "mon"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", ""),
)
def test_trouble_is_told_by_its_name_as_long_as_it_lasts(
    storage: Storage, writer_vm: tuple[Vm, str], trouble: Any, condition: str, reason: str, part: str
) -> None:
    cloud = storage.cloud

    def told() -> dict[str, str]:
        return cloud.condition(condition, "cephs.stackwright.dev/ceph")

    with trouble(storage):
        shown = eventually(lambda: told()["reason"] == reason, limit=SHOWN_LIMIT)
        assert told()["status"] == "False"
        assert part in told()["message"]
        eventually(lambda: "Ceph" in cloud.condition()["message"] and part in cloud.condition()["message"], limit=30)
        assert cloud.condition()["status"] == "False"
    gone = eventually(lambda: told()["status"] == "True", limit=NEW_KEY_LIMIT, pause=1)
    print(f"{condition} {reason}: told after {shown:.0f} s, taken back after {gone:.0f} s")


# ---- keys


@pytest.mark.long
def test_new_keys_reach_everybody_who_needs_them_and_nothing_is_restarted(
    storage: Storage, writer_vm: tuple[Vm, str], writer: Writer
) -> None:
    vm, _ = writer_vm
    before, old = lives(storage), storage.ceph.key("cinder")
    start = time.monotonic()
    for client in ("cinder", "nova"):
        storage.ceph.renew(client)
    assert not knows(storage.ceph, "cinder", old)
    for client in ("cinder", "nova"):
        key = storage.ceph.key(client)
        assert knows(storage.ceph, client, key)
        eventually(lambda: storage.cloud.secret(f"{client}-ceph", "key") == key, limit=60)  # noqa: B023
        print(f"{client}: its Secret has the new key after {time.monotonic() - start:.0f} s")
        eventually(lambda: set(keys_in_use(storage, client).values()) == {key}, NEW_KEY_LIMIT, pause=2)  # noqa: B023
        print(f"{client}: pods and libvirt have it after {time.monotonic() - start:.0f} s")
    volume = storage.volume("after")
    device = storage.attach(vm, volume)
    assert storage.vms.ssh(vm, f"dd if=/dev/urandom of={device} bs=64k count=4 conv=fsync && echo written") == "written"
    storage.detach(vm, volume)
    assert lives(storage) == before


def lives(storage: Storage) -> dict[tuple[str, str], int]:
    """(uid of a pod, container) → restarts."""
    return {
        (uid, status["name"]): status["restartCount"]
        for uid, pod in storage.cloud.pods().items()
        for status in pod["status"].get("containerStatuses", ())
    }


def knows(ceph: Ceph, client: str, key: str) -> bool:
    """Whether a monitor takes a key."""
    words = ("ceph", "--connect-timeout", "10", "--name", f"client.{client}", "--key", key, "--keyring", "/dev/null")
    return "fsid" in ceph.ask(*words, "mon", "dump", code=None)


def keys_in_use(storage: Storage, client: str) -> dict[str, str]:
    """Pod → key that is in its files; libvirt's on each node, by the uuid of the secret."""
    components = {"cinder": ["volume", "backup"], "nova": ["compute"]}[client]
    uuid = storage.cloud.secret(f"{client}-ceph", "secret_uuid")
    read = [(client, component, "sed -n 's/.*key = //p' /etc/ceph/keyring") for component in components]
    read.append(("libvirt", "libvirt", f"cat /etc/libvirt/secrets/{uuid}.base64"))
    found = {}
    for application, component, command in read:
        for pod in storage.cloud.pods("-l", f"application={application},component={component}").values():
            name = pod["metadata"]["name"]
            words = ("exec", "-n", storage.cloud.namespace, name, "--", "sh", "-c", command)
            found[name] = storage.cloud.kubectl(*words, code=None).strip().splitlines()[-1]
    return found


# ---- power


@pytest.mark.long
def test_after_a_power_cut_all_that_was_flushed_is_there(storage: Storage, writer_vm: tuple[Vm, str]) -> None:
    """Of the node that has Ceph, and with it all of the cloud's own services and the machine."""
    vm, device = writer_vm
    cloud, cluster = storage.cloud, storage.cloud.cluster
    sum_ = storage.fill(vm, device)
    (pod,) = cloud.pods("-l", "application=ceph,component=osd").values()
    nodes = cloud.nodes
    (node,) = [each for each in nodes if each.name == pod["spec"]["nodeName"]]
    power.cut(cluster, node)
    power.on(cluster, node, nodes)
    start = time.monotonic()
    eventually(lambda: storage.vms.ssh(vm, "hostname"), RETURN_LIMIT, pause=1)  # the API is away, too
    print(f"logged in again {time.monotonic() - start:.0f} s after power came back")
    assert storage.sum(vm, device) == sum_
    cloud.wait_ready(limit=RETURN_LIMIT)
    storage.volume("after-power")
