"""What `apply` asks about before it takes something from a cloud that is there."""

from __future__ import annotations

from typing import Any

from test_plan import cloud, deployed

from stackwright.api.deployment import OpenStackDeployment
from stackwright.cli.confirm import foreseen_losses
from stackwright.cli.manifests import Manifest
from stackwright.runtime.memory import MemoryCluster


def manifests(**spec: Any) -> list[Manifest]:
    return [Manifest(OpenStackDeployment.KIND, cloud(**spec))]


async def test_a_service_that_is_left_out_is_a_loss_and_nothing_is_written() -> None:
    cluster = await deployed()
    smaller = manifests(features={"services": ["~identity"]})
    lost = await foreseen_losses(cluster, smaller)
    assert "Keystone openstack/keystone" in lost
    assert "release openstack/openstack-keystone" in lost
    assert not cluster.writes


async def test_the_same_cloud_and_a_new_one_lose_nothing() -> None:
    assert await foreseen_losses(await deployed(), manifests()) == []
    assert await foreseen_losses(MemoryCluster(), manifests()) == []
