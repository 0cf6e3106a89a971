"""The second kind of cloud: an OpenStackControlPlane from nothing to Ready, its pause, a second cloud, its deletion."""

from copy import deepcopy

import pytest
import yaml

from stackwright.api.kinds import DAEMONSET, SECRET, STATEFULSET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.controlplane import STAGE, OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import SERVICE_KINDS
from stackwright.core.errors import TerminalError
from stackwright.core.kubernetes import precache
from stackwright.core.objects import secret_data
from tests.scenario.world import NAMESPACE, World, assert_only_accounts_are_looked_at

pytestmark = pytest.mark.looptime
KIND = OpenStackControlPlane.KIND
NAME = "openstack"
SPEC = {
    "secret": "osp-secret",
    "storageClass": "fast",
    "galera": {"templates": {"openstack": {"replicas": 3, "storageRequest": "2Gi"}}},
    "rabbitmq": {},
    "memcached": {"templates": {"memcached": {"replicas": 2}}},
    "keystone": {"template": {"replicas": 2, "customServiceConfig": "[token]\nexpiration = 60\n"}},
    "glance": {},
    "placement": {},
    "horizon": {"enabled": True},
    "swift": {"enabled": False},
}
ALL = {"MariaDB", "RabbitMQ", "Memcached", "Keystone", "Glance", "Placement", "Horizon"}


def written(world, annotations=None, name=NAME, **changes):
    """Write the OpenStackControlPlane, as `kubectl apply` does."""
    before = world.get(KIND, name) or {}
    meta = {**before.get("metadata", {"name": name, "namespace": NAMESPACE}), "annotations": annotations or {}}
    return world.cluster.put(KIND, {**before, "metadata": meta, "spec": {**deepcopy(SPEC), **changes}})


@pytest.fixture
def world():
    made = World()
    made.secret("osp-secret", AdminPassword="12345678")
    return made


def conditions(world):
    entries = world.get(KIND, NAME)["status"]["conditions"]
    return {entry["type"]: (entry["status"], entry["reason"]) for entry in entries}


def services(world):
    return {resource.KIND.kind for resource in SERVICE_KINDS if world.cluster.all(resource.KIND)}


async def test_a_control_plane_becomes_ready_with_every_section(world):
    written(world)
    await world.settle()
    found = world.get(KIND, NAME)
    assert world.condition("Ready", found) == ("True", "Ready", "")
    assert conditions(world) == {
        "Ready": ("True", "Ready"),
        "Reconciling": ("False", "Ready"),
        "Stalled": ("False", "Ready"),
        "Images": ("True", "Done"),
        **dict.fromkeys(ALL, ("True", "Ready")),
    }
    assert (found["status"]["progress"], found["status"]["version"]) == ("7/7", "epoxy")
    assert services(world) == ALL
    assert world.cluster.peek(DAEMONSET, (NAMESPACE, precache.NAME)) is not None


async def test_templates_reach_the_values_of_the_charts(world):
    written(world)
    await world.settle()

    def values(name):
        bundle = world.get(HelmBundle.KIND, f"openstack-{name}")
        return bundle["spec"]["releases"][0]["values"]

    assert values("mariadb")["pod"]["replicas"] == {"server": 3}
    assert values("mariadb")["volume"] == {"class_name": "fast", "size": "2Gi"}
    assert values("memcached")["pod"]["replicas"] == {"server": 2}
    keystone = values("keystone")
    assert keystone["pod"]["replicas"] == {"api": 2}
    assert keystone["conf"]["keystone"]["token"] == {"provider": "fernet", "expiration": "60"}
    assert [server.split(".")[0] for server in keystone["conf"]["keystone"]["cache"]["memcache_servers"]] == [
        "memcached-0", "memcached-1",
    ]  # fmt: skip
    assert keystone["endpoints"]["identity"]["auth"]["admin"]["region_name"] == "regionOne"
    assert world.get(STATEFULSET, "mariadb-server")["spec"]["replicas"] == 3


async def test_the_administrator_has_the_password_of_the_secret_once_and_for_all(world):
    written(world)
    await world.settle()
    admin = secret_data(world.get(SECRET, "keystone-admin"))
    assert admin["password"] == "12345678"
    auth = yaml.safe_load(admin["clouds.yaml"])["clouds"]["openstack"]["auth"]
    assert auth["password"] == "12345678", "a text, though it looks like a number"
    world.secret("osp-secret", AdminPassword="other")
    written(world, keystone={"template": {"region": "elsewhere"}})
    await world.settle()
    admin = secret_data(world.get(SECRET, "keystone-admin"))
    assert (admin["password"], admin["region_name"]) == ("12345678", "elsewhere")


async def test_without_the_password_keystone_reports_the_missing_secret():
    world = World()
    written(world)
    await world.settle()
    cause = "Waiting for key AdminPassword of Secret openstack/osp-secret"
    assert cause in world.condition("Ready", world.get(KIND, NAME))[2]
    world.secret("osp-secret", AdminPassword="x")
    await world.run(600)
    await world.settle()
    assert world.ready(world.get(KIND, NAME))


async def test_infrastructure_only_pauses_and_the_rest_follows(world):
    written(world, {STAGE: "infrastructure-only"})
    await world.settle()
    assert services(world) == {"MariaDB", "RabbitMQ", "Memcached"}
    assert conditions(world) == {
        "Ready": ("False", "Paused"),
        "Reconciling": ("False", "Paused"),
        "Stalled": ("True", "Paused"),
        "DeploymentStage": ("False", "Paused"),
        "Images": ("True", "Done"),
        **dict.fromkeys(("MariaDB", "RabbitMQ", "Memcached"), ("True", "Ready")),
    }
    assert "pauses keystone, glance, placement, horizon" in world.condition("Ready", world.get(KIND, NAME))[2]
    written(world)
    await world.settle()
    assert world.ready(world.get(KIND, NAME))
    assert services(world) == ALL
    written(world, {STAGE: "infrastructure-only"})
    await world.settle()
    assert services(world) == ALL, "a pause takes nothing away"


async def test_a_removed_section_removes_its_service(world):
    written(world)
    await world.settle()
    written(world, horizon={"enabled": False})
    await world.settle()
    assert world.ready(world.get(KIND, NAME))
    assert services(world) == ALL - {"Horizon"}


async def test_fewer_databases_are_reported_by_field_and_the_update_is_not_applied(world):
    """Such an object may exist if admission did not check it."""
    written(world)
    await world.settle()
    before, calls = world.state()["objects"], len(world.helm.calls)
    fewer = {"templates": {"openstack": {"replicas": 1, "storageRequest": "2Gi"}}}
    written(world, galera=fewer, keystone={"template": {"replicas": 1}}, horizon={"enabled": False})
    await world.settle()
    assert world.condition("Ready", world.get(KIND, NAME)) == (
        "False",
        "BlockedWouldLoseMajority",
        "spec.galera.templates.openstack.replicas: cannot be reduced to 1: 1 of 3 voting servers may have no majority; "
        "allowed: 3 or more",
    )
    after = world.state()["objects"]
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert (changed, len(world.helm.calls)) == ({f"OpenStackControlPlane/{NAME}"}, calls)


@pytest.mark.parametrize("first", ["OpenStackDeployment", "OpenStackControlPlane"])
async def test_a_namespace_has_one_cloud_and_the_next_takes_over_after_its_deletion(world, first):
    def deployment():
        off = ["~networking", "~compute", "~ingress"]
        return world.cloud(features={"services": off})

    entries = {"OpenStackDeployment": deployment, "OpenStackControlPlane": lambda: written(world)}
    kinds = {"OpenStackDeployment": (OpenStackDeployment.KIND, "cloud"), "OpenStackControlPlane": (KIND, NAME)}
    (second,) = set(entries) - {first}
    entries[first]()
    await world.settle()
    assert world.ready(world.get(*kinds[first]))
    entries[second]()
    await world.settle()
    blocked = world.condition("Ready", world.get(*kinds[second]))
    assert blocked[1] == "BlockedAnotherCloud"
    assert f"{first} {kinds[first][1]}" in blocked[2]
    assert world.ready(world.get(*kinds[first]))
    world.delete(*kinds[first])
    await world.settle()
    assert world.ready(world.get(*kinds[second]))


async def test_when_nothing_changes_nothing_is_written(world):
    written(world)
    await world.settle()
    before, reconciles = world.writes, len(world.reconciles)
    await world.run(3600)
    assert world.writes == before
    assert_only_accounts_are_looked_at(world.reconciles[reconciles:])


async def test_all_objects_are_deleted_with_the_control_plane(world):
    before = world.state()["objects"]
    written(world)
    await world.settle()
    world.delete(KIND, NAME)
    await world.settle()
    assert world.state()["objects"] == before


async def test_an_unsupported_field_is_rejected_by_name(world):
    with pytest.raises(TerminalError, match="swift"):
        written(world, swift={"enabled": True})
