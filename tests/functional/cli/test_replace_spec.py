"""A rollback on a real API server gives one spec or the other, with any field owner and a kill at any time."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.cli.manifests.load import MANAGER
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import Conflict, TerminalError
from stackwright.runtime.cluster.specs import replace_spec
from stackwright.runtime.memory import MemoryCluster
from support.faults import Crash, FaultyCluster

KIND = OpenStackDeployment.KIND
FIRST = {"openstack_version": "epoxy", "preset": "core", "size": "tiny"}
MINE = {**FIRST, "size": "medium", "internal_domain_name": "mine.local"}
NEW = {"local_volume_storage_class": "fast", "services": {"compute": {"nova": {"values": {"conf": None}}}}}
THEIRS = {"size": "small", "features": {"services": ["block-storage"], "network_policies": {"enabled": True}}}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("write", [0, 1, 2, 3])
async def test_one_spec_or_the_other(cluster: KubernetesCluster, namespace: str, write: int, after: bool) -> None:
    async def spec() -> Any:
        return (await cluster.get(KIND, key) or {})["spec"]

    key = (namespace, "cloud")
    meta: dict[str, Any] = {"namespace": namespace, "name": "cloud"}
    await cluster.apply(KIND, {"metadata": meta, "spec": MINE}, MANAGER)
    await cluster.apply(KIND, {"metadata": {**meta, "labels": {"of": "flux"}}, "spec": THEIRS}, "flux")
    await cluster.patch(KIND, key, {"spec": {"region_name": "Two"}})
    status = {"metadata": meta, "status": {"observedGeneration": 1}}
    await cluster.apply_status(KIND, status, "operator")
    before = await spec()
    wanted = {"metadata": meta, "spec": {**FIRST, **NEW}}
    new = MemoryCluster().put(KIND, wanted)["spec"]  # with its defaults
    if write:
        with pytest.raises(Crash):
            await replace_spec(FaultyCluster(cluster, write, after), KIND, wanted, MANAGER)
        assert await spec() == (before if (write, after) == (1, False) else new)
    found = await replace_spec(cluster, KIND, wanted, MANAGER)
    assert found["spec"] == await spec() == new
    assert found["metadata"]["labels"] == {"of": "flux"}
    assert found["status"] == {"observedGeneration": 1}
    owners = [entry["manager"] for entry in found["metadata"]["managedFields"] if "f:spec" in entry["fieldsV1"]]
    assert owners == [MANAGER]
    await cluster.apply(KIND, {"metadata": meta, "spec": FIRST}, MANAGER)
    gone = await spec()
    assert new == {**gone, **NEW}, "the next apply takes away what this one brought"
    assert gone != new


async def test_a_rejection_changes_no_field_of_any_manager(cluster: KubernetesCluster, namespace: str) -> None:
    """The rejection has no effect now, and none in the next apply of the earlier manifest."""
    meta: dict[str, Any] = {"namespace": namespace, "name": "cloud"}
    theirs = {"features": {"services": ["block-storage"]}}
    await cluster.apply(KIND, {"metadata": meta, "spec": MINE}, MANAGER)
    await cluster.apply(KIND, {"metadata": meta, "spec": theirs}, "flux")
    before = await cluster.get(KIND, (namespace, "cloud"))
    with pytest.raises(TerminalError, match="size"):
        await replace_spec(cluster, KIND, {"metadata": meta, "spec": {**FIRST, "size": "huge"}}, MANAGER)
    assert await cluster.get(KIND, (namespace, "cloud")) == before
    found = await cluster.apply(KIND, {"metadata": meta, "spec": MINE}, MANAGER)
    assert found["spec"]["features"]["services"] == ["block-storage"]


async def test_an_interrupted_replacement_loses_nothing_in_the_next_apply(
    cluster: KubernetesCluster, namespace: str
) -> None:
    meta: dict[str, Any] = {"namespace": namespace, "name": "cloud"}
    theirs = {"features": {"services": ["block-storage"]}}
    await cluster.apply(KIND, {"metadata": meta, "spec": MINE}, MANAGER)
    await cluster.apply(KIND, {"metadata": meta, "spec": theirs}, "flux")
    with pytest.raises(Crash):
        wanted = {"metadata": meta, "spec": {**MINE, **theirs, "local_volume_storage_class": "fast"}}
        await replace_spec(FaultyCluster(cluster, 2), KIND, wanted, MANAGER)
    found = await cluster.apply(KIND, {"metadata": meta, "spec": MINE}, MANAGER)
    assert found["spec"]["features"]["services"] == ["block-storage"]


@pytest.mark.parametrize("other", [{"resourceVersion": "1"}, {"uid": "00000000-0000-4000-8000-000000000001"}])
async def test_a_json_patch_of_another_version_or_object_is_a_conflict(
    cluster: KubernetesCluster, namespace: str, other: dict[str, str]
) -> None:
    found = await cluster.apply(KIND, {"metadata": {"namespace": namespace, "name": "cloud"}, "spec": FIRST}, MANAGER)
    patch = [{"op": "add", "path": f"/metadata/{name}", "value": value} for name, value in other.items()]
    patch.append({"op": "add", "path": "/spec", "value": MINE})
    with pytest.raises(Conflict):
        await cluster.patch(KIND, (namespace, "cloud"), patch)
    assert await cluster.get(KIND, (namespace, "cloud")) == found
