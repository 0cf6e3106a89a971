"""The number of voting servers is never reduced, in any state of the update that changed it."""

import dataclasses
from typing import Any

import pytest

from stackwright.api.kinds import DEPLOYMENT, STATEFULSET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.services.keystone.kind import Keystone
from tests.scenario.world import NAMESPACE, SETTINGS, UNREADY, UNSCHEDULABLE, World, ready_world

pytestmark = pytest.mark.looptime
# Chart → its service, the voting component, and a workload of it.
VOTING = {
    "etcd": ("coordination", "server", "etcd-server"),
    "mariadb": ("database", "server", "mariadb-server"),
    "ceph": ("ceph", "mon", "ceph-watch"),
}
FEATURES = {"services": ["coordination", "ceph"]}
NO_MAJORITY = "cannot be reduced to 1: 1 of 3 voting servers may have no majority; allowed: 3 or more"


def values(chart: str, count: int, **more: Any) -> dict[str, Any]:
    service, component, _ = VOTING[chart]
    return {service: {chart: {"values": {"pod": {"replicas": {component: count}}, **more}}}}


def members(world: World, chart: str) -> Any:
    (release,) = world.bundle(chart)["spec"]["releases"]
    return release["values"]["pod"]["replicas"][VOTING[chart][1]]


def healed(world: World, name: str) -> None:
    world.kubelet.broken.clear()
    world.kubelet.sync(DEPLOYMENT if name == "ceph-watch" else STATEFULSET, name)


@pytest.mark.parametrize("chart", VOTING)
async def test_a_growth_that_is_not_ready_in_time_is_not_rolled_back_and_continues(chart: str) -> None:
    _, component, workload = VOTING[chart]
    world = await ready_world(features=FEATURES)
    calls, release = len(world.helm.calls), (NAMESPACE, f"openstack-{chart}")
    world.kubelet.broken[workload] = UNSCHEDULABLE
    world.cloud(features=FEATURES, services=values(chart, 3))
    await world.run(1300)
    assert ("rollback", release) not in world.helm.calls[calls:]
    status, reason, message = world.condition("Ready", world.bundle(chart))
    assert (status, reason) == ("False", "BlockedNotReady")
    assert f"Release openstack-{chart} is not ready and made no progress for 600 s: " in message
    assert "too few cpu" in message
    assert message.endswith(f"; not rolled back to revision 1: pod.replicas.{component}: {NO_MAJORITY}")
    assert (members(world, chart), world.condition()[1]) == (3, "BlockedNotReady")
    healed(world, workload)
    await world.settle()
    assert world.ready()
    assert world.helm.calls[calls:].count(("upgrade", release)) == 1


@pytest.mark.parametrize("chart", VOTING)
async def test_an_upgrade_of_as_many_servers_that_vote_is_rolled_back(chart: str) -> None:
    _, _, workload = VOTING[chart]
    world = await ready_world(features=FEATURES, services=values(chart, 3))
    world.kubelet.broken[workload] = UNREADY
    world.cloud(features=FEATURES, services=values(chart, 3, labels={"x": {}}))
    await world.run(620)
    assert world.helm.calls[-1] == ("rollback", (NAMESPACE, f"openstack-{chart}"))
    healed(world, workload)
    await world.settle()
    assert world.condition()[1] == "BlockedRolledBack"


async def test_changes_after_an_unready_growth_are_not_rolled_back_either() -> None:
    """The same with an operator that was restarted in between, and one whose earlier version did not count voters."""
    world = await ready_world(features=FEATURES)
    world.kubelet.broken["etcd-server"] = UNREADY
    world.cloud(features=FEATURES, services=values("etcd", 3))
    await world.run(300)
    await world.stop()
    bundle = world.bundle("etcd")
    bundle["status"]["releaseStatuses"]["openstack-etcd"].pop("readyVoters", None)
    world.cluster.put(HelmBundle.KIND, bundle)
    world.cloud(features=FEATURES, services=values("etcd", 3, labels={"x": {}}))
    await world.run(700)
    assert "not rolled back to revision 1" in world.condition("Ready", world.bundle("etcd"))[2]
    assert "rollback" not in {verb for verb, _ in world.helm.calls}


async def test_a_growing_cloud_rolls_back_only_releases_without_votes() -> None:
    world = await ready_world(features=FEATURES)
    world.kubelet.broken |= dict.fromkeys(("etcd-server", "mariadb-server", "ceph-watch", "memcached"), UNREADY)
    world.cloud(size="tiny", features=FEATURES)
    await world.run(900)
    assert [key for verb, key in world.helm.calls if verb == "rollback"] == [(NAMESPACE, "openstack-memcached")]


def cannot(change: dict[str, Any], path: str, problem: str) -> Any:
    return pytest.param(change, f"{path}: {problem}", id=path)


PATH = "spec.services.{}.{}.values.pod.replicas.{}"
SIZE = "cannot be reduced to single: one server of three has no majority; allowed: tiny, small, medium"
LOWERED = [
    *(
        cannot({"services": values(chart, 1)}, PATH.format(service, chart, component), NO_MAJORITY)
        for chart, (service, component, _) in VOTING.items()
    ),
    cannot(
        {"common": {"infra": {"releases": {"etcd": {"values": {"pod": {"replicas": {"server": 1}}}}}}}},
        "spec.common.infra.releases.etcd.values.pod.replicas.server",
        NO_MAJORITY,
    ),
    cannot({"size": "single"}, "spec.size", SIZE),
]


@pytest.mark.parametrize(("change", "told"), LOWERED)
async def test_an_admitted_update_to_fewer_servers_is_not_applied_partially(change: dict[str, Any], told: str) -> None:
    """If the webhook is disabled or down: no service applies the rest of the update, and all keep running unchanged."""
    world = await ready_world(size="tiny", features=FEATURES)
    before, calls = world.state()["objects"], len(world.helm.calls)
    audit = {"logging": {"cadf": {"enabled": True}}}
    world.cloud(**({"size": "tiny", "features": {**FEATURES, **audit}, "region_name": "elsewhere"} | change))
    await world.settle()
    assert world.condition() == ("False", "BlockedWouldLoseMajority", told)
    assert (world.condition("Reconciling")[0], world.condition("Stalled")[0]) == ("False", "True")
    after = world.state()["objects"]
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {"OpenStackDeployment/cloud"}
    assert len(world.helm.calls) == calls
    writes = world.writes
    await world.run(3600)
    assert world.writes == writes
    world.cloud(size="tiny", features=FEATURES, region_name="elsewhere")
    await world.settle()
    assert world.ready()
    assert world.get(Keystone.KIND, "keystone")["spec"]["region"] == "elsewhere"


async def test_every_service_that_would_lose_servers_that_vote_is_named() -> None:
    world = await ready_world(size="tiny", features=FEATURES)
    world.cloud(size="tiny", features=FEATURES, services={**values("etcd", 1), **values("mariadb", 2)})
    await world.settle()
    at = [PATH.format(service, chart, component) for chart, (service, component, _) in VOTING.items()]
    assert world.condition()[2] == (
        f"{at[1]}: cannot be reduced to 2: 2 of 3 voting servers may have no majority; allowed: 3 or more; "
        f"{at[0]}: {NO_MAJORITY}"
    )


def written(world: World, etcd: int, memory: int, *more: str, at: str = NAMESPACE, **values: Any) -> None:
    """Write a HelmBundle of a user, as `kubectl apply` does; its release `a` is in the namespace `at`."""
    before = world.get(HelmBundle.KIND, "mine") or {"metadata": {"name": "mine", "namespace": NAMESPACE}}
    wanted = [
        {"name": "a", "namespace": at, "chart": "memcached", "values": {"conf": {"memcached": {"memory": memory}}}},
        {"name": "b", "chart": "etcd", "values": {"pod": {"replicas": {"server": etcd}}, **values}},
        *({"name": name, "chart": "placement", "values": {}} for name in more),
    ]
    world.cluster.put(HelmBundle.KIND, {**before, "spec": {"releases": wanted}})


@pytest.mark.parametrize("ready", [True, False])
async def test_an_admitted_update_of_a_helmbundle_is_not_applied_partially_either(ready: bool) -> None:
    world = World()
    written(world, 3 if ready else 1, 64, "c")
    await world.settle()
    assert world.ready(world.get(HelmBundle.KIND, "mine"))
    if not ready:
        world.kubelet.broken["etcd-server"] = UNREADY
        written(world, 3, 64, "c")
        await world.run(30)
    calls = len(world.helm.calls)
    written(world, 1, 99)
    await world.run(30)
    await world.stop()
    await world.run(1300)
    mine = world.get(HelmBundle.KIND, "mine")
    told = ("False", "BlockedWouldLoseMajority", f"spec.releases[1].values.pod.replicas.server: {NO_MAJORITY}")
    assert world.condition("Ready", mine) == world.condition("B", mine) == told
    assert world.condition("A", mine) == ("False", "Waiting", "Waiting for valid values of release b")
    assert world.helm.calls[calls:] == []
    healed(world, "etcd-server")
    written(world, 3, 99)
    await world.settle()
    assert world.ready(world.get(HelmBundle.KIND, "mine"))
    assert world.helm.calls[calls:] == [("uninstall", (NAMESPACE, "c")), ("upgrade", (NAMESPACE, "a"))]


def forget(world: World) -> None:
    """Change the HelmBundle to that of an earlier version, which did not count voters."""
    mine = world.get(HelmBundle.KIND, "mine")
    assert mine is not None
    mine["status"]["releaseStatuses"]["b"].pop("readyVoters")
    world.cluster.put(HelmBundle.KIND, mine)


@pytest.mark.parametrize(("before", "after", "rolled_back"), [(3, 3, True), (1, 3, False), (1, 1, True)])
async def test_the_first_upgrade_by_a_new_operator_is_rolled_back_unless_it_adds_servers_that_vote(
    before: int, after: int, rolled_back: bool
) -> None:
    world = World()
    written(world, before, 64)
    await world.settle()
    calls = len(world.helm.calls)
    await world.stop()
    forget(world)
    world.kubelet.broken["etcd-server"] = UNREADY
    written(world, after, 64, labels={"x": {}})
    await world.run(1300)
    assert (("rollback", (NAMESPACE, "b")) in world.helm.calls[calls:]) is rolled_back


async def test_manually_added_servers_do_not_count_for_the_ready_revision() -> None:
    world = World()
    written(world, 1, 64)
    await world.settle()
    calls = len(world.helm.calls)
    await world.stop()
    forget(world)
    world.kubelet.broken["etcd-server"] = UNREADY
    server = world.get(STATEFULSET, "etcd-server")
    assert server is not None
    world.cluster.put(STATEFULSET, {**server, "spec": {**server["spec"], "replicas": 3}})
    await world.run(30)
    written(world, 3, 64)
    await world.run(1300)
    assert world.helm.calls[calls:] == [("upgrade", (NAMESPACE, "b"))]


async def test_a_release_that_moves_while_nothing_is_applied_is_uninstalled_where_it_was() -> None:
    world = World()
    world.settings = dataclasses.replace(SETTINGS, unrestricted=True)
    written(world, 3, 64)
    await world.settle()
    assert world.ready(world.get(HelmBundle.KIND, "mine"))
    calls = len(world.helm.calls)
    written(world, 1, 64, at="elsewhere")
    await world.run(60)
    assert world.condition("B", world.get(HelmBundle.KIND, "mine"))[1] == "BlockedWouldLoseMajority"
    assert world.helm.calls[calls:] == []
    await world.stop()
    written(world, 3, 64, at="elsewhere")
    await world.settle()
    assert world.ready(world.get(HelmBundle.KIND, "mine"))
    assert world.helm.calls[calls:] == [("uninstall", (NAMESPACE, "a")), ("upgrade", ("elsewhere", "a"))]


async def test_manually_added_servers_block_only_an_update() -> None:
    """Manually added servers may be members of the cluster, too."""
    world = await ready_world(features=FEATURES)
    server = world.get(STATEFULSET, "etcd-server")
    assert server is not None
    world.cluster.put(STATEFULSET, {**server, "spec": {**server["spec"], "replicas": 3}})
    await world.settle()
    assert world.ready()
    world.cloud(features=FEATURES, services=values("etcd", 1, labels={"x": {}}))
    await world.settle()
    told = f"spec.releases[0].values.pod.replicas.server: {NO_MAJORITY}"
    assert world.condition("Ready", world.bundle("etcd"))[1:] == ("BlockedWouldLoseMajority", told)
    world.cloud(features=FEATURES, services=values("etcd", 3, labels={"x": {}}))
    await world.settle()
    assert world.ready()
