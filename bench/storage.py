"""Volumes in Ceph: from an image, booted from, fifty at once; 4 KiB random writes in a machine and beside Ceph.

How: in the running local cloud (`stackwright up -f examples/storage.yaml`), in a separate project, one by one.

  from an image   from the request `volume create` until the API reports `available`; the image is raw, so it is cloned
                  (n = 10)
  boot            from the request `server create` with such a volume to ACTIVE, and to a ping reply (5)
  batch           --objects (50) empty volumes of 1 GiB, requested one by one, until the last is `available`
  writes          in a machine, to an attached, already filled volume: 4 KiB, O_DIRECT, one at a time, at random
                  offsets. The guest only has busybox, so each write is a separate `dd`; the time of 200 `dd` to
                  /dev/null is subtracted. The peer is `rbd bench` in the monitor's pod, on a volume filled by the same
                  command: the same writes without Cinder, Nova, QEMU and the guest.

Sources of error: other load on the machine. With an emulated processor, writes in the machine measure the emulation
more than the storage. Statuses are polled every tenth of a second.
"""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.figure import Figure, Goal
from bench.options import BenchError, Options, say
from bench.polling import until
from bench.tenancy import Ground, ground
from stackwright.local import tools
from stackwright.local.config import LocalCluster
from stackwright.runtime.x509 import ssh_keypair
from stackwright.smoke.ports import Failed, Login
from stackwright.smoke.stage import GUEST_USER
from stackwright.smoke.tenant import Rule

LIMIT = 600.0
PAUSE = 0.1
WRITES = 200
BLOCKS = (1 << 30) // 4096
UNLIMITED = {"volumes": -1, "gigabytes": -1}
MON = ("exec", "-n", "openstack", "ceph-mon-0", "-c", "mon", "--")


def measure(options: Options) -> Iterator[Figure]:
    with ground() as made:
        blocks = made.client.block_storage
        blocks.update_quota_set(made.client.current_project_id, **UNLIMITED)
        try:
            image = raw_image(made)
            yield Figure("volume from an image", "s", list(clones(made, image, options.n or 10)))
            boots = [boot(made, image, index) for index in range(options.n or 5)]
            yield Figure("boot from a volume → ACTIVE", "s", [active for active, _ in boots])
            yield Figure("boot from a volume → ping", "s", [ping for _, ping in boots])
            yield from batch(made, options.objects or 50)
            yield writes(made)
        finally:
            remove(made)
            blocks.revert_quota_set(made.client.current_project_id)


def raw_image(made: Ground) -> str:
    """A raw image; if necessary Cinder creates one from a volume with the converted image."""
    if made.client.image.get_image(made.image).disk_format == "raw":
        return made.image
    say("making a raw image")
    blocks = made.client.block_storage
    volume = volume_of(made, "first", image_id=made.image)
    words = {"disk_format": "raw", "container_format": "bare", "force": False}
    blocks.upload_volume_to_image(volume, f"{made.name}-raw", **words)
    until("an image", lambda: blocks.get_volume(volume.id).status == "available", LIMIT)
    return str(made.client.image.find_image(f"{made.name}-raw", ignore_missing=False).id)


def clones(made: Ground, image: str, count: int) -> Iterator[float]:
    for index in range(count):
        start = time.monotonic()
        volume = volume_of(made, f"clone-{index}", image_id=image)
        yield time.monotonic() - start
        made.client.block_storage.delete_volume(volume)


def boot(made: Ground, image: str, index: int) -> tuple[float, float]:
    """Seconds to ACTIVE and to a ping reply from the floating IP."""
    volume = volume_of(made, f"root-{index}", image_id=image)
    port = made.user.networking.port(f"{made.name}-{index}", made.network, made.group)
    address = made.user.networking.floating(port.id, made.external)
    start = time.monotonic()
    server = server_of(made, f"booted-{index}", port.id, volume)
    active = time.monotonic() - start
    until("a ping", lambda: made.host.ping(address), LIMIT, PAUSE)
    ping = time.monotonic() - start
    say(f"boot {index + 1}: ACTIVE {active:.1f} s, ping {ping:.1f} s")
    made.client.compute.delete_server(server)
    until("deleted", lambda: made.user.computing.server(server.id) is None, LIMIT, 0.5)
    made.client.network.delete_port(port.id)
    made.client.block_storage.delete_volume(volume)
    return active, ping


def batch(made: Ground, count: int) -> Iterator[Figure]:
    blocks = made.client.block_storage
    start = time.monotonic()
    asked = {blocks.create_volume(name=f"{made.name}-batch", size=1).id for _ in range(count)}
    answered = time.monotonic() - start

    def waiting() -> set[str]:
        return {volume.id for volume in blocks.volumes() if volume.id in asked and volume.status == "creating"}

    until("a batch of volumes", lambda: not waiting(), LIMIT, PAUSE)
    took = time.monotonic() - start
    failed = [volume.id for volume in blocks.volumes() if volume.id in asked and volume.status != "available"]
    for volume in asked:
        blocks.delete_volume(volume)
    until("an end of a batch", lambda: not asked & {volume.id for volume in blocks.volumes()}, LIMIT, 0.5)
    yield Figure(f"{count} volumes: the requests", "s", [answered])
    yield Figure(f"{count} volumes: until the last is available", "s", [took])
    yield Figure(f"{count} volumes: failed", "volumes", [len(failed)], Goal(most=0))


def writes(made: Ground) -> Figure:
    compute, name = made.client.compute, f"{made.name}-writer"
    group = made.user.networking.group(name, (Rule("icmp"), Rule("tcp", 22)))
    port = made.user.networking.port(name, made.network, group)
    private, public = ssh_keypair()
    made.user.computing.keypair(name, public)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        key = Path(folder, "key")
        key.touch(mode=0o600)
        key.write_text(private)
        login = Login(made.user.networking.floating(port.id, made.external), GUEST_USER, key)
        server = server_of(made, "writer", port.id, None, key_name=name)
        volume, other = volume_of(made, "written"), volume_of(made, "beside")
        for each in (volume, other):
            rbd_bench(each, "seq", "1M", 1 << 30, threads=4)
        compute.create_volume_attachment(server, volume=volume)
        device = f"/dev/$(grep -l {volume.id[:20]} /sys/block/*/serial | cut -d / -f 4)"
        until("a login", lambda: answers(made, login, f"test -b {device}"), LIMIT)
        inside = [in_machine(made, login, device) for _ in range(3)]
        beside = [rbd_bench(other, "rand", "4K", WRITES * 4096) for _ in range(3)]
    compute.delete_keypair(name)
    note = f"each a dd of its own in the guest, {WRITES} a sample, the time of dd itself taken away"
    return Figure("4 KiB random writes in a machine", "IO/s", inside, peer="rbd bench", peers=beside, note=note)


def in_machine(made: Ground, login: Login, device: str) -> float:
    places = " ".join(str(random.randrange(BLOCKS)) for _ in range(WRITES))
    loop = f'for at in {places}; do dd if=/dev/zero of="$1" bs=4k count=1 seek=$at conv=notrunc $2 2>/dev/null; done'
    clock = "cut -d ' ' -f 1 /proc/uptime"
    script = f"run() {{ {loop}; }}; {clock}; run /dev/null; {clock}; run {device} oflag=direct; {clock}"
    begin, middle, end = map(float, made.host.ssh(login, script).split())
    return WRITES / max(0.01, (end - middle) - (middle - begin))


def rbd_bench(volume: Any, pattern: str, size: str, total: int, threads: int = 1) -> float:
    """Writes a second, without the cache that would merge them."""
    how = ("--io-type", "write", "--io-pattern", pattern, "--io-size", size, "--io-total", str(total))
    words = ("rbd", "bench", *how, "--io-threads", str(threads), "--rbd-cache=false", f"volumes/volume-{volume.id}")
    cluster = LocalCluster.discover()
    command = [tools.binary("kubectl"), "--kubeconfig", cluster.kubeconfig, *MON, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    found = re.search(r"^elapsed:.*ops/sec: +([\d.e+]+)", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        raise BenchError(f"rbd bench: {(done.stderr or done.stdout).strip()[-500:]}")
    return float(found[1])


def answers(made: Ground, login: Login, command: str) -> bool:
    try:
        made.host.ssh(login, command)
    except Failed:
        return False
    return True


def volume_of(made: Ground, name: str, **more: Any) -> Any:
    """An available volume of 1 GiB."""
    blocks = made.client.block_storage
    volume = blocks.create_volume(name=f"{made.name}-{name}", size=1, **more)
    return blocks.wait_for_status(volume, "available", ["error"], interval=PAUSE, wait=LIMIT)


def server_of(made: Ground, name: str, port: str, volume: Any, **more: Any) -> Any:
    """An ACTIVE machine; its disk is a volume, or one that Nova creates."""
    disk = {"image_id": made.image}
    if volume:
        mapping = {"boot_index": 0, "uuid": volume.id, "source_type": "volume", "destination_type": "volume"}
        disk = {"image_id": "", "block_device_mapping": [mapping]}
    ports = [{"port": port}]
    compute = made.client.compute
    server = compute.create_server(name=f"{made.name}-{name}", flavor_id=made.flavor, networks=ports, **disk, **more)
    return compute.wait_for_server(server, interval=PAUSE, wait=LIMIT)


def remove(made: Ground) -> None:
    """Delete resources that the project's own cleanup does not cover."""
    compute, blocks = made.client.compute, made.client.block_storage
    for server in list(compute.servers()):
        compute.delete_server(server)
    until("deleted machines", lambda: not list(compute.servers()), LIMIT)
    for volume in list(blocks.volumes()):
        blocks.delete_volume(volume)
    until("deleted volumes", lambda: not list(blocks.volumes()), LIMIT)
