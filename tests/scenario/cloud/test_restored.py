"""State that is restored from a backup: etcd under a running operator, whose object versions restart at a lower number;
and the keys of data, which nothing but a backup replaces.
"""

from __future__ import annotations

import copy

import pytest

from stackwright.api.kinds import SECRET
from stackwright.api.services.contracts import DatabaseAccount
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.objects import OWNER, annotation, owner_label, owner_reference, secret_data
from stackwright.core.secrets.fernet import ROTATED
from stackwright.services.keystone.kind import Keystone
from stackwright.services.keystone.values import CREDENTIAL_KEYS
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.placement.kind import Placement
from tests.scenario.world import NAMESPACE, World, built_world, ready_world

pytestmark = pytest.mark.looptime
LATER = {"size": "tiny", "features": {"services": ["placement"]}}


async def restored() -> World:
    """A cloud that was changed after the snapshot; the operator has not noticed the restore."""
    world = await ready_world()
    objects, version = dict(world.cluster._objects), world.cluster._version
    world.cloud(**LATER)
    await world.settle()
    assert world.ready() and world.get(Placement.KIND, "placement")
    world.cluster._objects, world.cluster._version = objects, version
    world.kubelet._seen.clear()
    return world


async def test_the_operator_follows_the_restored_state() -> None:
    world = await restored()
    await world.run(700)  # until the next list
    reference, _ = await built_world()
    assert world.bundle("mariadb")["spec"] == reference.bundle("mariadb")["spec"]
    assert world.ready() and world.get(Placement.KIND, "placement") is None
    for kind, spaces in world._runtime.store._objects.items():  # type: ignore[union-attr]
        for space in spaces.values():
            for key, obj in space.items():
                live = world.cluster.peek(kind, key)
                assert live and live["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"], (kind, key)
    await world.stop()


@pytest.mark.parametrize("listed", [True, False])
async def test_changes_after_the_restoration_are_followed(listed: bool) -> None:
    """Includes objects whose names were known before the restore, at versions that occur again only now."""
    world = await restored()
    if listed:
        await world.run(700)
    world.cloud(**LATER)
    await world.run(1500)
    assert world.ready(), world.condition()
    assert world.get(Placement.KIND, "placement") and world.bundle("placement")
    assert world.ready(world.get(DatabaseAccount.KIND, "placement"))
    await world.stop()


def credential_keys(world: World) -> dict[str, str]:
    return secret_data(world.get(SECRET, CREDENTIAL_KEYS))


async def test_keys_of_credentials_outlive_keystone_with_its_database() -> None:
    world = await ready_world()
    before = credential_keys(world)
    world.delete(Keystone.KIND, "keystone")
    await world.run(300)
    assert world.ready()
    assert credential_keys(world) == before
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert world.get(SECRET, CREDENTIAL_KEYS) is None


async def test_lost_keys_of_credentials_are_reported_at_once_and_not_replaced() -> None:
    world = await ready_world()
    kept = copy.deepcopy(world.get(SECRET, CREDENTIAL_KEYS))
    assert kept
    world.delete(SECRET, CREDENTIAL_KEYS)
    await world.run(60)
    assert world.get(SECRET, CREDENTIAL_KEYS) is None
    _, reason, message = world.condition(obj=world.get(Keystone.KIND, "keystone"))
    assert reason == "BlockedKeyLost" and f"{NAMESPACE}/{CREDENTIAL_KEYS}" in message
    world.cluster.put(SECRET, {"metadata": {"name": CREDENTIAL_KEYS, "namespace": NAMESPACE}, "data": kept["data"]})
    await world.run(60)
    assert world.ready()
    assert set(secret_data(kept).values()) <= set(credential_keys(world).values())


async def test_keys_that_an_earlier_version_made_get_their_new_owner_and_are_kept() -> None:
    """Then they belonged to Keystone, and were deleted with it."""
    world = await ready_world()
    keystone, database = world.get(Keystone.KIND, "keystone"), world.get(MariaDB.KIND, "mariadb")
    secret = copy.deepcopy(world.get(SECRET, CREDENTIAL_KEYS))
    assert keystone and database and secret
    secret["metadata"]["ownerReferences"] = [owner_reference(keystone)]
    secret["metadata"]["labels"][OWNER] = owner_label(keystone)
    await world.stop()
    world.cluster.put(SECRET, secret)
    await world.start()
    await world.settle()
    found = world.get(SECRET, CREDENTIAL_KEYS)
    assert found and found["data"] == secret["data"]
    assert [each["uid"] for each in found["metadata"]["ownerReferences"]] == [database["metadata"]["uid"]]
    assert annotation(found, ROTATED) == annotation(secret, ROTATED)
    assert world.ready()
