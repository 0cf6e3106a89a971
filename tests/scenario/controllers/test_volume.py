"""The life of a local volume, with the provisioner killed before and after every write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.directories import LocalDirectories
from stackwright.api.kinds import PV, PVC, STORAGE_CLASS
from stackwright.controllers.volume import Place, controllers
from stackwright.core.errors import TransientError
from stackwright.core.ports import Directories, Ports, absent
from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.memory import FrozenClock, MemoryCluster, SeededEntropy
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import Runtime
from support.faults import Crash, FaultyCluster, Fuse

CLASS = {
    "metadata": {"name": "local"},
    "provisioner": "stackwright.dev/local-volume",
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
}
KEY = ("openstack", "data")


class _Mortal(Runtime):
    """A runtime that a Crash ends, like the kill of the process."""

    def ends(self, error):
        return isinstance(error, Crash) or super().ends(error)


class FaultyDirectories:
    def __init__(self, inner: LocalDirectories, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    async def make(self, path: str) -> None:
        await self._fuse.write(self._inner.make(path))

    async def remove(self, path: str) -> None:
        await self._fuse.write(self._inner.remove(path))

    async def holds(self, path: str) -> bool:
        return await self._inner.holds(path)


class World:
    """A cluster with one claim, one node's directory, and a provisioner that may be killed and restarted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cluster = MemoryCluster()
        self.cluster.put(STORAGE_CLASS, CLASS)
        claim = {
            "metadata": {
                "namespace": KEY[0],
                "name": KEY[1],
                "annotations": {"volume.kubernetes.io/selected-node": "node-1"},
            },
            "spec": {
                "storageClassName": "local",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
            "status": {"phase": "Pending"},
        }
        self.uid: str = self.cluster.put(PVC, claim)["metadata"]["uid"]

    @property
    def directory(self) -> Path:
        return self.root / self.uid

    def volume(self) -> dict[str, Any] | None:
        return self.cluster.peek(PV, ("", f"pvc-{self.uid}"))

    def runtime(self, fuse: Fuse, node: str = "node-1", directories: Directories | None = None) -> Runtime:
        made = directories or FaultyDirectories(LocalDirectories(str(self.root)), fuse)
        store, cluster = Store(), FaultyCluster(self.cluster, fuse=fuse)
        ports = Ports(
            cluster=WriteThrough(store, cluster),
            helm=absent("helm"),
            clock=FrozenClock(),
            entropy=SeededEntropy(),
            directories=made,
        )
        place = Place(node, node, str(self.root))
        return _Mortal(controllers(place, made), ports, CachedReader(store, cluster), store, KeyedQueue())

    async def run(self, fuse: Fuse, node: str = "node-1") -> None:
        """Run the provisioner once: load all objects, and work until nothing remains to do. Raises Crash."""
        loop = self.runtime(fuse, node)
        self.cluster.subscribe(lambda event, kind, obj: loop.on_event(event == "DELETED", kind, obj))
        await loop.load()
        while not loop.queue.idle:
            item = await loop.queue.get()
            try:
                await loop.reconcile(item)
            finally:
                loop.queue.done(item)

    def bind(self) -> None:
        """Bind claim and volume, as Kubernetes does."""
        volume, claim = self.volume(), self.cluster.peek(PVC, KEY)
        assert volume
        assert claim
        self.cluster.put(PV, {**volume, "status": {"phase": "Bound"}})
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        self.cluster.put(PVC, {**claim, "status": {"phase": "Bound"}})

    def release(self) -> None:
        """Delete the claim; the volume remains."""
        self.cluster.remove(PVC, KEY)
        volume = self.volume()
        assert volume
        self.cluster.put(PV, {**volume, "status": {"phase": "Released"}})


async def killed_at_each_write(prepare: Callable[[], Awaitable[World]], done: Callable[[World], bool]) -> int:
    """Crash before and after the n-th write for all n, restart, and check. Returns the number of writes."""
    for crash_at in range(1, 100):
        for after in (False, True):
            world, fuse = await prepare(), Fuse(crash_at, after)
            try:
                await world.run(fuse)
            except Crash:
                await world.run(Fuse())
            assert done(world), (crash_at, after)
        if fuse.count < crash_at:
            return fuse.count
    raise AssertionError("it never stops writing")


@pytest.fixture
def worlds(tmp_path: Path) -> Callable[[], World]:
    def make() -> World:
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        root.mkdir()
        return World(root)

    return make


async def test_a_volume_is_created_despite_a_crash_at_any_write(worlds: Callable[[], World]) -> None:
    async def prepare() -> World:
        return worlds()

    assert await killed_at_each_write(prepare, lambda world: world.directory.is_dir() and bool(world.volume())) == 2


async def test_removed_in_spite_of_a_crash_at_any_write(worlds: Callable[[], World]) -> None:
    async def prepare() -> World:
        world = worlds()
        await world.run(Fuse())
        world.bind()
        (world.directory / "data").write_text("x")
        world.release()
        return world

    assert await killed_at_each_write(prepare, lambda world: not (world.directory.exists() or world.volume())) == 2


async def test_a_volume_in_use_survives_restarts_untouched(worlds: Callable[[], World]) -> None:
    world = worlds()
    await world.run(Fuse())
    world.bind()
    (world.directory / "data").write_text("x")
    before = len(world.cluster.writes)
    await world.run(Fuse())
    assert len(world.cluster.writes) == before
    assert (world.directory / "data").exists()


async def test_the_provisioner_of_another_node_does_nothing(worlds: Callable[[], World]) -> None:
    world = worlds()
    await world.run(Fuse(), node="node-2")
    assert world.volume() is None
    await world.run(Fuse())
    world.bind()
    world.release()
    await world.run(Fuse(), node="node-2")
    assert world.directory.is_dir()
    assert world.volume() is not None


class FullDisk(LocalDirectories):
    async def make(self, path: str) -> None:
        raise TransientError(f"cannot make {path}: No space left on device")


async def test_a_failure_is_reported_by_an_event_of_the_claim(worlds: Callable[[], World]) -> None:
    world = worlds()
    loop = world.runtime(Fuse(), directories=FullDisk(str(world.root)))
    await loop.load()
    await loop.reconcile(("volume", KEY))
    assert world.volume() is None
    ((key, reason, message, warning),) = world.cluster.events
    assert (key, reason, warning) == (KEY, "Failed", True)
    assert "No space left" in message


async def test_an_unsupported_claim_gets_an_event(worlds: Callable[[], World]) -> None:
    world = worlds()
    claim = world.cluster.peek(PVC, KEY)
    assert claim
    claim["spec"]["accessModes"] = ["ReadWriteMany"]
    world.cluster.put(PVC, claim)
    await world.run(Fuse())
    assert world.volume() is None
    assert list(world.root.iterdir()) == []
    ((key, reason, message, warning),) = world.cluster.events
    assert (key, reason, warning) == (KEY, "CannotProvision", True)
    assert "ReadWriteMany" in message
