"""Clients of storage get new keys while they run."""

from __future__ import annotations

import time

import pytest
from harness import eventually
from storage import Ceph, Storage
from traffic.writer import Writer
from vms import Vm

pytestmark = pytest.mark.usefixtures("undisturbed")

NEW_KEY_LIMIT = 240


def test_new_keys_reach_all_their_clients_without_a_restart(
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
