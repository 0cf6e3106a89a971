"""Shared by tests of storage: volumes and images as users have them, and commands inside their Ceph."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from full import FullCloud
from harness import eventually
from vms import Vm, Vms

from stackwright.local import tools
from stackwright.local.host import cgroups
from stackwright.local.image.guest import guest_image

PREFIX = "storage-"  # prefix of all resources of these tests, by which they are found
LIMIT = 300
FILLED = 4 << 20
UNLIMITED = {"volumes": -1, "gigabytes": -1, "snapshots": -1}
QUIET = '"$@" 2>/tmp/said || { rc=$?; cat /tmp/said; exit $rc; }'  # other output is shown only on failure
RAW = "cat >/tmp/guest && qemu-img convert -O raw /tmp/guest /tmp/raw && cat /tmp/raw; rm -f /tmp/guest /tmp/raw"


class Ceph:
    """Commands in the monitor's pod, with all rights."""

    def __init__(self, cloud: FullCloud) -> None:
        self._cloud = cloud

    def ask(self, *words: str, code: int | None = 0) -> str:
        where = ("exec", "-n", self._cloud.namespace, "ceph-mon-0", "-c", "mon", "--", "sh", "-c", QUIET, "-")
        return self._cloud.kubectl(*where, *words, code=code).strip()

    def rbd(self, *words: str) -> Any:
        return json.loads(self.ask("rbd", *words, "--format", "json"))

    def renew(self, client: str) -> None:
        """Create another key for a client; the old one is refused from now on."""
        for step in ("get-or-create-pending", "commit-pending"):
            self.ask("ceph", "auth", step, f"client.{client}")

    def key(self, client: str) -> str:
        return self.ask("ceph", "auth", "print-key", f"client.{client}")


class Storage:
    """`blocks` is the client of volumes, used by the administrator in its own project."""

    def __init__(self, cloud: FullCloud, vms: Vms) -> None:
        self.cloud, self.vms, self.ceph = cloud, vms, Ceph(cloud)
        self.sdk = vms.sdk
        self.blocks = vms.sdk.block_storage
        self.blocks.update_quota_set(self.sdk.current_project_id, **UNLIMITED)

    # ---- images and machines

    def raw_image(self, name: str) -> Any:
        """The guest image in raw format, which Ceph can clone. Cinder's pod has qemu-img."""
        pod = ("exec", "-i", "-n", self.cloud.namespace, "cinder-volume-0", "-c", "cinder-volume", "--")
        command = [tools.binary("kubectl"), "--kubeconfig", self.cloud.cluster.kubeconfig, *pod, "sh", "-c", RAW]
        guest = guest_image(self.cloud.cluster).read_bytes()
        raw = subprocess.run(command, input=guest, stdout=subprocess.PIPE, check=True, timeout=LIMIT).stdout
        kinds = {"disk_format": "raw", "container_format": "bare"}
        made = self.sdk.image.create_image(f"{PREFIX}{name}", data=raw, **kinds)
        return self.sdk.image.wait_for_status(made, "active", wait=LIMIT)

    def machine(self, name: str, volume: Any = None, host: str = "node1") -> Vm:
        """A machine with a login. Its disk is the volume, if given, otherwise one of Nova."""
        more: dict[str, Any] = {}
        if volume:
            disk = {"boot_index": 0, "uuid": volume.id, "source_type": "volume", "destination_type": "volume"}
            more = {"image_id": "", "block_device_mapping": [disk]}
        vm = self.vms.begin(f"{PREFIX}{name}", host, **more)
        self.vms.reached(vm)
        return vm

    def two_nodes(self) -> None:
        if len(self.cloud.nodes) < 2:
            self.cloud.stackwright("up", "--nodes", "2", limit=1500)
        self.cloud.wait_ready()
        hypervisors = self.sdk.compute.hypervisors
        eventually(lambda: {h.name for h in hypervisors() if h.state == "up"} >= {"node1", "node2"}, LIMIT, pause=2)

    # ---- volumes

    def begin(self, name: str, size: int = 1, **more: Any) -> Any:
        return self.blocks.create_volume(name=f"{PREFIX}{name}", size=size, **more)

    def ready(self, thing: Any, status: str = "available", limit: int = LIMIT) -> Any:
        """Wait for the status of a volume, snapshot or backup, and return it."""
        bad = ["error", "error_extending", "error_restoring"]
        return self.blocks.wait_for_status(thing.fetch(self.blocks), status, bad, interval=1, wait=limit)

    def settled(self, volume: Any, limit: int = LIMIT) -> str:
        """The status of a volume after its creation."""
        eventually(lambda: volume.fetch(self.blocks).status not in ("creating", "downloading"), limit, pause=1)
        return str(volume.status)

    def volume(self, name: str, size: int = 1, **more: Any) -> Any:
        return self.ready(self.begin(name, size, **more))

    def attach(self, vm: Vm, volume: Any) -> str:
        """Attach a volume. Returns its device in the machine."""
        self.sdk.compute.create_volume_attachment(vm.id, volume=volume)
        self.ready(volume, "in-use")
        look = f"grep -l {volume.id[:20]} /sys/block/*/serial"
        eventually(lambda: bool(self.vms.ssh(vm, look)), limit=60, pause=1)
        return f"/dev/{self.vms.ssh(vm, look).split('/')[3]}"

    def detach(self, vm: Vm, volume: Any, left: int = 0) -> None:
        """left  number of other machines to which it remains attached"""
        compute = self.sdk.compute
        compute.delete_volume_attachment(vm.id, volume)
        self.ready(volume, "in-use" if left else "available")
        # Nova deletes its record later than Cinder, and would refuse to attach the volume again before.
        eventually(lambda: volume.id not in {each.volume_id for each in compute.volume_attachments(vm.id)}, limit=60)

    def fill(self, vm: Vm, device: str) -> str:
        """Write random data to the start of a device and flush it. Returns the checksum."""
        noise = f"head -c {FILLED} /dev/urandom >/run/noise; md5sum </run/noise"
        write = f"dd if=/run/noise of={device} bs=64k conv=fsync 2>/dev/null; rm /run/noise"
        return self.vms.ssh(vm, f"{noise}; {write}").split()[0]

    def sum(self, vm: Vm, device: str) -> str:
        """The checksum of the current content."""
        return self.vms.ssh(vm, f"head -c {FILLED} {device} | md5sum").split()[0]

    def image_of(self, volume: Any) -> str:
        """The name of its image in RBD."""
        return f"volumes/volume-{volume.id}"

    # ---- cleaning up

    def sweep(self) -> None:
        """Remove all resources with our prefix, dependent ones first."""
        self._sweep_machines()
        self.sweep_volumes()
        self._gone(self.blocks.types, self.blocks.delete_type)
        self._gone(self.sdk.image.images, self.sdk.image.delete_image)

    def close(self) -> None:
        self.sweep()
        self.blocks.revert_quota_set(self.sdk.current_project_id)
        self.sdk.close()

    def sweep_volumes(self, but: str = "") -> None:
        """Remove volumes with their snapshots and backups, and all objects."""
        blocks, kept = self.blocks, f"{PREFIX}{but}"

        def volumes() -> list[Any]:
            return [each for each in blocks.volumes() if each.name != kept]

        self._gone(blocks.backups, blocks.delete_backup)
        self._gone(lambda: [each for each in volumes() if each.snapshot_id], blocks.delete_volume)
        self._gone(blocks.snapshots, blocks.delete_snapshot)
        self._gone(volumes, blocks.delete_volume)
        self._gone(self.sdk.object_store.containers, self._delete_container)

    def _sweep_machines(self) -> None:
        compute, net = self.sdk.compute, self.sdk.network
        self._gone(compute.servers, compute.delete_server)
        for port in ours(net.ports()):
            for ip in list(net.ips(port_id=port.id)):
                net.delete_ip(ip)
        self._gone(net.ports, net.delete_port)
        self._gone(net.security_groups, net.delete_security_group)

    def _gone(self, things: Any, delete: Any) -> None:
        for thing in ours(things()):
            delete(thing)
        eventually(lambda: not ours(things()), limit=LIMIT, pause=1)

    def _delete_container(self, container: Any) -> None:
        for each in list(self.sdk.object_store.objects(container)):
            self.sdk.object_store.delete_object(each, container=container)
        self.sdk.object_store.delete_container(container)


def ours(things: Iterable[Any]) -> list[Any]:
    return [thing for thing in things if str(thing.name).startswith(PREFIX)]


def processes(pod: dict[str, Any], program: str) -> list[int]:
    """Processes of a program in a pod, as pids of this machine. A script is its interpreter's first argument."""
    uid = pod["metadata"]["uid"]
    groups = [group for group in cgroups.groups() if uid in str(group) or uid.replace("-", "_") in str(group)]
    found = set().union(*(cgroups.members(group) for group in groups))
    return sorted(pid for pid in found if program in [Path(word).name for word in command_line(pid)[:2]])


def command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:  # the process has ended
        return []
