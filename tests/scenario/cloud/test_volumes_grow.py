"""A larger cloud gets larger volumes if they can be expanded; else it keeps their size and reports it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from stackwright.api.kinds import PVC, STORAGE_CLASS
from stackwright.core.conditions import find
from stackwright.core.errors import TerminalError
from stackwright.core.plan import Object
from stackwright.services.mariadb.kind import MariaDB
from tests.scenario.world import NAMESPACE, World, ready_world

pytestmark = pytest.mark.looptime
NAMES = ("mysql-data-mariadb-server-0", "mysql-data-mariadb-server-1")


def claim(name: str, size: str = "5Gi", application: str = "mariadb", phase: str = "Bound", **spec: Any) -> Object:
    """A claim as the StatefulSet controller creates it."""
    labels = {"application": application, "component": "server"}
    asked = {"storageClassName": "cloud", "resources": {"requests": {"storage": size}}, **spec}
    status = {"phase": phase, **({"capacity": {"storage": size}} if phase == "Bound" else {})}
    return {"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}, "spec": asked, "status": status}


def storage_class(**more: Any) -> Object:
    return {"metadata": {"name": "cloud"}, "provisioner": "example.org/disks", **more}


async def cloud(storage: Object, *claims: Object) -> World:
    """A small cloud that runs, with its claims, and then gets the size `tiny`."""
    world = await ready_world()
    await world.stop()
    world.cluster.put(STORAGE_CLASS, storage)
    for each in claims:
        world.cluster.put(PVC, each)
    await world.settle()
    assert told(world) in (None, ("True", "Done", ""))
    for name in ("node-2", "node-3"):
        world.node(name, {"openstack-control-plane": "enabled"})
    world.cloud(size="tiny")
    await world.settle()
    return world


def told(world: World) -> tuple[str, str, str] | None:
    entry = find(world.get(MariaDB.KIND, "mariadb"), "Volumes")
    return (entry["status"], entry["reason"], entry["message"]) if entry else None


def sizes(world: World) -> dict[str, str]:
    return {obj["metadata"]["name"]: obj["spec"]["resources"]["requests"]["storage"] for obj in world.cluster.all(PVC)}


def resized(world: World, name: str, **status: Any) -> None:
    """Resize the volume, as the driver does."""
    obj = copy.deepcopy(world.cluster.peek(PVC, (NAMESPACE, name)))
    obj["status"] |= status or {"capacity": dict(obj["spec"]["resources"]["requests"])}
    world.cluster.put(PVC, obj)


async def test_claims_grow_with_the_cloud_where_their_class_allows_it() -> None:
    others = (claim("data-other-0", application="other"), claim("mysql-data-x", application="rabbitmq"))
    world = await cloud(storage_class(allowVolumeExpansion=True), *map(claim, NAMES), *others)
    assert {name: sizes(world)[name] for name in NAMES} == dict.fromkeys(NAMES, "20Gi")
    assert sizes(world)["data-other-0"] == "5Gi", "what is not ours stays"
    assert world.ready(), "it runs on while they grow"
    status, reason, message = told(world) or ("", "", "")
    assert (status, reason) == ("False", "Growing")
    assert all(f"Resizing PersistentVolumeClaim {name} from 5Gi to 20Gi" in message for name in NAMES)
    resized(world, NAMES[0])
    resized(world, NAMES[1], conditions=[{"type": "FileSystemResizePending", "status": "True"}])
    await world.run(5)
    assert told(world) == (
        "False",
        "Growing",
        f"Resizing PersistentVolumeClaim {NAMES[1]} from 5Gi to 20Gi, which ends when its pod restarts",
    )
    resized(world, NAMES[1])
    await world.run(5)
    assert told(world) == ("True", "Done", "")
    writes = world.writes
    await world.run(1800)
    assert world.writes == writes
    await world.stop()


@pytest.mark.parametrize("more", [{}, {"allowVolumeExpansion": False}])
async def test_a_class_without_expansion_is_reported_by_a_ready_cloud(more: dict[str, Any]) -> None:
    world = await cloud(storage_class(**more), claim(NAMES[0]))
    assert sizes(world) == {NAMES[0]: "5Gi"}
    assert told(world) == (
        "False",
        "SizeFixed",
        f"PersistentVolumeClaim {NAMES[0]} cannot be resized from 5Gi to 20Gi: "
        "StorageClass cloud forbids it (allowVolumeExpansion)",
    )
    assert world.ready()
    world.cluster.put(STORAGE_CLASS, storage_class(allowVolumeExpansion=True))
    await world.run(5)
    assert sizes(world) == {NAMES[0]: "20Gi"}, "as soon as it does"
    await world.stop()


async def test_a_volume_never_shrinks() -> None:
    world = await cloud(storage_class(allowVolumeExpansion=True), claim(NAMES[0]))
    world.cloud(size="small")
    await world.settle()
    resized(world, NAMES[0])
    world.cloud(size="tiny")
    await world.settle()
    assert sizes(world) == {NAMES[0]: "50Gi"}
    status, reason, message = told(world) or ("", "", "")
    assert (status, reason) == ("False", "SizeFixed")
    assert "keeps its size 50Gi instead of 20Gi: a volume cannot shrink" in message
    assert world.ready()
    await world.stop()


async def test_a_claim_without_a_volume_is_not_changed() -> None:
    """Kubernetes refuses to change it. A server that is added later gets the old size of its StatefulSet first."""
    world = await cloud(storage_class(allowVolumeExpansion=True), claim(NAMES[0], phase="Pending"))
    assert sizes(world) == {NAMES[0]: "5Gi"}
    assert "once it has a volume" in (told(world) or ("", "", ""))[2]
    assert world.ready()
    world.cluster.put(PVC, claim(NAMES[0]))
    await world.run(5)
    assert sizes(world) == {NAMES[0]: "20Gi"}
    await world.stop()


async def test_a_rejection_of_the_api_becomes_an_event_and_the_service_stays_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from stackwright.runtime.memory import MemoryCluster

    patch = MemoryCluster.patch

    async def full(self: MemoryCluster, kind: Any, key: Any, body: Object) -> Object:
        if kind == PVC:
            raise TerminalError("exceeded quota: disks")
        return await patch(self, kind, key, body)

    monkeypatch.setattr(MemoryCluster, "patch", full)
    world = await cloud(storage_class(allowVolumeExpansion=True), claim(NAMES[0]))
    assert sizes(world) == {NAMES[0]: "5Gi"}
    assert world.ready()
    assert any("exceeded quota: disks" in str(event) for event in world.cluster.events)
    writes = world.writes
    await world.run(600)
    assert world.writes - writes < 30
    await world.stop()
