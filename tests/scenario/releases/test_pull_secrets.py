"""Pull Secrets of the operator in the namespaces of clouds: copied, updated, deleted, and used by all pods."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from stackwright.api.kinds import DAEMONSET, SECRET
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.kubernetes import precache
from stackwright.core.objects import secret_data
from stackwright.core.settings import Settings, pulls
from tests.scenario.world import NAMESPACE, SETTINGS, World

pytestmark = pytest.mark.looptime
MEMCACHED = {"services": ["~identity", "~database", "~messaging"]}
TYPE, FIELD = "kubernetes.io/dockerconfigjson", ".dockerconfigjson"


def given(
    world: World, name: str = "registry", text: str = "{}", namespace: str = "stackwright", type_: str = TYPE
) -> None:
    before = world.cluster.peek(SECRET, (namespace, name)) or {"metadata": {"name": name, "namespace": namespace}}
    data = {FIELD: base64.b64encode(text.encode()).decode()}
    world.cluster.put(SECRET, {**before, "type": type_, "data": data})


def world_with(*names: str) -> World:
    world = World()
    world.settings = replace(SETTINGS, pull_secrets=names)
    return world


def copy(world: World, name: str = "registry") -> str | None:
    found = world.cluster.peek(SECRET, (NAMESPACE, name))
    assert found is None or found["type"] == TYPE
    return None if found is None else secret_data(found)[FIELD]


async def test_copies_follow_their_originals_and_are_deleted_with_the_cloud() -> None:
    world = world_with("registry", "mirror")
    given(world, "registry", "one")
    given(world, "mirror", "two")
    given(world, "unrelated", "three")
    world.cloud(features=MEMCACHED)
    await world.settle()
    assert world.ready() and world.condition("PullSecrets") == ("True", "Done", "")
    assert (copy(world, "registry"), copy(world, "mirror"), copy(world, "unrelated")) == ("one", "two", None)
    given(world, "registry", "rotated")
    await world.run(70)
    assert (copy(world, "registry"), copy(world, "mirror")) == ("rotated", "two")
    writes = world.writes
    await world.run(300)
    assert world.writes == writes
    assert world.helm.calls == [("upgrade", (NAMESPACE, "openstack-memcached"))], "no pod restarts for a rotation"
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert copy(world, "registry") is copy(world, "mirror") is None


async def test_all_pods_of_the_cloud_name_them() -> None:
    world = world_with("registry")
    given(world)
    world.cloud(features=MEMCACHED)
    await world.settle()
    named = [{"name": "registry"}]
    pod = world.get(DAEMONSET, precache.NAME)["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == named
    (release,) = world.bundle("memcached")["spec"]["releases"]
    assert release["values"]["images"]["pull_secrets"] == named


async def test_a_missing_secret_is_named_until_it_exists() -> None:
    world = world_with("registry", "mirror")
    given(world, "mirror")
    world.cloud(features=MEMCACHED)
    await world.run(60)
    missing = "False", "BlockedPullSecretMissing", "Secret stackwright/registry does not exist; create it"
    assert world.condition("PullSecrets") == missing == world.condition()
    assert copy(world, "mirror") == "{}"
    assert world.condition("Images")[0] == "True", "images are pulled as far as it works without the Secret"
    given(world)
    await world.run(30)
    assert world.ready() and copy(world) == "{}"


async def test_another_type_is_refused_and_not_read() -> None:
    world = world_with("registry")
    given(world, type_="Opaque")
    world.cloud(features=MEMCACHED)
    await world.run(60)
    text = f"Secret stackwright/registry must have the type {TYPE} and the key {FIELD}"
    assert world.condition("PullSecrets") == ("False", "BlockedPullSecretInvalid", text)
    assert copy(world) is None


async def test_a_secret_of_a_user_in_the_namespace_is_used_and_kept() -> None:
    world = world_with("registry")
    given(world, namespace=NAMESPACE, text="mine")
    world.cloud(features=MEMCACHED)
    await world.settle()
    assert world.ready() and copy(world) == "mine"
    given(world, text="theirs")
    await world.run(200)
    assert copy(world) == "mine"


async def test_a_secret_of_a_user_may_have_the_older_type() -> None:
    world = world_with("registry")
    old = {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": base64.b64encode(b"{}").decode()}}
    world.cluster.put(SECRET, {"metadata": {"name": "registry", "namespace": NAMESPACE}, **old})
    world.cloud(features=MEMCACHED)
    await world.settle()
    assert world.ready() and world.condition("PullSecrets") == ("True", "Done", "")


async def test_the_copy_of_a_name_that_the_operator_no_longer_has_is_deleted() -> None:
    world = world_with("registry")
    given(world)
    world.cloud(features=MEMCACHED)
    await world.settle()
    assert copy(world) == "{}"
    await world.stop()
    world.settings = SETTINGS
    await world.settle()
    assert world.ready() and copy(world) is None
    assert "imagePullSecrets" not in world.get(DAEMONSET, precache.NAME)["spec"]["template"]["spec"]


async def test_a_cloud_beside_the_operator_uses_the_originals() -> None:
    world = world_with("registry")
    world.settings = replace(world.settings or SETTINGS, namespace=NAMESPACE)
    given(world, namespace=NAMESPACE, text="original")
    world.cloud(features=MEMCACHED)
    await world.settle()
    assert world.ready() and copy(world) == "original"
    found = world.cluster.peek(SECRET, (NAMESPACE, "registry"))
    assert found is not None and "ownerReferences" not in found["metadata"]


def test_the_operator_and_plan_read_the_names_from_the_chart() -> None:
    found = pulls('{"secrets": [{"name": "b"}, {"name": "a"}, {"name": "b"}]}')
    assert Settings(**found) == Settings(pull_secrets=("b", "a"))
    assert Settings(**pulls("")) == Settings()
