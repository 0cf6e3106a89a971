"""`apply` asks for confirmation before it deletes parts of an existing cloud."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.kinds import NODE, PVC, SECRET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cli.confirm import foreseen_losses
from stackwright.cli.manifests.load import MANAGER, Manifest
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.core.errors import TransientError
from stackwright.core.objects import ORPHAN
from stackwright.core.openstack.calls import REMOVALS
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.plan import HelmUpgrade
from stackwright.forecast import simulate
from stackwright.forecast.entries import CUT_OFF, Entry
from stackwright.forecast.impact import INSTANCE
from stackwright.forecast.losses import losses
from stackwright.forecast.plan import forecast
from stackwright.runtime.memory import MemoryCluster, MemoryContents
from stackwright.services.glance.kind import Glance
from tests.scenario.capi_world import BASTION, CLUSTERS, IN_CLOUD, MACHINES, MANAGED, Clusters, asking
from tests.scenario.forecast.test_plan import CLOUD, NOW, applied, cloud, deployed, empty, installed, overridden
from tests.scenario.pool_world import POOLS, pools
from tests.scenario.server_world import KIND as SERVERS
from tests.scenario.server_world import SPEC, VOLUMES, made
from tests.scenario.world import EVERY_ROLE, NAMESPACE, SETTINGS, World, cloud_object


def manifests(**spec: Any) -> list[Manifest]:
    return [Manifest(OpenStackDeployment.KIND, cloud(**spec))]


async def test_a_service_that_is_left_out_is_a_loss_and_nothing_is_written() -> None:
    cluster = await deployed()
    smaller = manifests(features={"services": ["~identity"]})
    lost = await foreseen_losses(cluster, smaller)
    assert "Keystone openstack/keystone" in lost
    assert "release openstack/openstack-keystone" in lost
    assert not cluster.writes


async def test_losses_of_a_paused_cloud_are_reported_before_it_is_resumed() -> None:
    cluster = await deployed()
    note = {"metadata": {"annotations": {STACKWRIGHT.annotation: "true"}}}
    await cluster.patch(OpenStackDeployment.KIND, CLOUD, note)
    assert "Keystone openstack/keystone" in await foreseen_losses(
        cluster, manifests(features={"services": ["~identity"]})
    )


async def test_a_forecast_that_is_cut_off_may_have_lost_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same if the forecast without the change is cut off: the losses of the two may differ."""
    cluster = await deployed()
    changed = manifests(public_domain_name="other.example")
    assert await foreseen_losses(cluster, changed) == []
    monkeypatch.setattr(simulate, "ROUNDS", 1)
    assert await foreseen_losses(cluster, changed) == [f"unknown, because {CUT_OFF.what}"]
    assert not cluster.writes


@pytest.mark.parametrize("anyway", [True, False])
async def test_a_step_that_fails_in_the_forecast_may_hide_a_loss(monkeypatch: pytest.MonkeyPatch, anyway: bool) -> None:
    """No loss is reported if the step fails without the change, too."""
    cluster = await deployed()
    real = simulate.execute

    async def execute(actions: list[Any], *words: Any) -> Any:
        if any(isinstance(each, HelmUpgrade) and (anyway or "54321" in str(each.values)) for each in actions):
            raise TransientError("no answer")
        return await real(actions, *words)

    monkeypatch.setattr(simulate, "execute", execute)
    found = await foreseen_losses(cluster, manifests(services=overridden(54321)))
    assert [each.endswith("no answer") and "keystone" in each for each in found] == [True] * (not anyway)


def two_nodes() -> MemoryCluster:
    cluster = empty()
    cluster.put(NODE, {"metadata": {"name": "node2", "labels": EVERY_ROLE}})
    return cluster


async def whole() -> MemoryCluster:
    """An existing cloud of all services."""
    return await installed(two_nodes, SETTINGS, cloud_object(whole=True))


async def changed(**spec: Any) -> list[Entry]:
    """The plan that changes such a cloud."""
    found, _ = await forecast(await whole(), SETTINGS, applied(cloud_object(whole=True, **spec)), NOW + 200)
    return found


async def test_another_back_end_of_the_network_is_a_loss_for_machines_that_run() -> None:
    found = await changed(features={"neutron": {"backend": "ml2/ovn"}})
    text = "back end ml2 of Neutron openstack/neutron, replaced by ml2/ovn: running servers lose access to its data"
    assert text in losses(found)
    found = await changed(public_domain_name="other.example")
    assert losses(found) == []


def vault(**fields: Any) -> dict[str, Any]:
    refs = {
        f"approle_{each}_id": {"value_from": {"secret_key_ref": {"name": "vault", "key": each}}}
        for each in ("role", "secret")
    }
    store = {"vault_url": "https://user:hush@vault.example:8200", **refs, **fields}
    return {"services": ["key-manager"], "barbican": {"backends": {"vault": store}}}


@pytest.mark.parametrize(
    ("before", "after", "is_lost"),
    [
        (vault(), {"services": ["key-manager"]}, True),
        (vault(), vault(enabled=False), True),
        (vault(), vault(kv_mountpoint="other"), True),
        (vault(), vault(namespace="team"), True),
        (vault(), vault(vault_url="https://elsewhere.example"), True),
        (vault(), vault(vault_url="https://vault.example:8200", kv_version=1), False),
        ({"services": ["key-manager"]}, vault(), False),
    ],
)
async def test_secrets_in_a_vault_that_the_cloud_leaves_are_a_loss(
    before: dict[str, Any], after: dict[str, Any], is_lost: bool
) -> None:
    def with_credentials() -> MemoryCluster:
        cluster = two_nodes()
        meta = {"namespace": NAMESPACE, "name": "vault"}
        cluster.put(SECRET, {"metadata": meta, "data": {"role": "eA==", "secret": "eA=="}})
        return cluster

    cluster = await installed(with_credentials, SETTINGS, cloud_object(features=before))
    found, _ = await forecast(cluster, SETTINGS, applied(cloud_object(features=after)), NOW + 200)
    text = "access to the data of Barbican openstack/barbican in Vault at https://vault.example:8200, path secret"
    assert losses(found) == ([text] if is_lost else [])


async def test_images_on_a_disabled_claim_are_lost() -> None:
    disabled = {"services": {"image": {"glance": {"values": {"manifests": {"pvc_images": False}}}}}}
    world = await whole()
    wanted = applied(cloud_object(whole=True, **disabled))
    assert losses((await forecast(world, SETTINGS, wanted, NOW + 200))[0]) == [], "there is no such claim"
    meta = {"name": "glance-images", "namespace": CLOUD[0], "labels": {INSTANCE: "openstack-glance"}}
    world.put(PVC, {"metadata": meta, "spec": {"volumeName": "pv-1"}})
    found, _ = await forecast(world, SETTINGS, wanted, NOW + 200)
    assert losses(found) == [f"claim {CLOUD[0]}/glance-images with volume pv-1"]
    assert losses((await forecast(world, SETTINGS, applied(cloud_object(whole=True)), NOW + 200))[0]) == []
    other = {"services": {"image": {"glance": {"values": {"manifests": {"pdb_api": False}}}}}}
    assert losses((await forecast(world, SETTINGS, applied(cloud_object(whole=True, **other)), NOW + 200))[0]) == []


async def test_a_store_that_may_be_orphaned_is_lost_with_all_that_is_in_it() -> None:
    world = await whole()
    glance = await world.get(Glance.KIND, (CLOUD[0], "glance"))
    assert glance is not None and glance["status"]["backends"] == ["images"]
    more = {"rbd": {"other": {"default": True}}}
    wanted = cloud_object(whole=True, features={"glance": {"backends": more}})
    wanted["metadata"]["annotations"] = {ORPHAN: "glance/images"}
    found, _ = await forecast(world, SETTINGS, applied(wanted), NOW + 200)
    assert "back end images of Glance openstack/glance, with all its data" in losses(found)


@pytest.mark.parametrize(("images", "reason"), [([], ""), (["guest"], "BlockedWouldOrphan")])
async def test_only_an_empty_store_is_planned_to_be_removed(images: list[str], reason: str) -> None:
    contents = MemoryContents()
    contents.things = {"images": images}
    stores = {"file": {"other": {"default": True, "pvc": {"size": "1Gi"}}}}
    wanted = cloud_object(whole=True, features={"glance": {"backends": stores}})
    found, stuck = await forecast(await whole(), SETTINGS, applied(wanted), NOW + 200, simulate.Outside(contents))
    cause = stuck.get("Glance openstack/glance")
    assert (cause.reason if cause else "") == reason
    upgrades = [entry.what for entry in found if entry.verb == "helm"]
    assert any("openstack-glance" in what for what in upgrades) is not bool(reason)


async def test_the_same_cloud_and_a_new_one_lose_nothing() -> None:
    assert await foreseen_losses(await deployed(), manifests()) == []
    assert await foreseen_losses(MemoryCluster(), manifests()) == []


def bundle(*names: str) -> dict[str, Any]:
    releases = [{"name": name, "chart": "etcd", "values": {}} for name in names]
    return {"metadata": {"name": "mine", "namespace": NAMESPACE}, "spec": {"releases": releases}}


@pytest.mark.looptime
async def test_a_release_that_a_bundle_drops_is_a_loss() -> None:
    world = World()
    await world.cluster.apply(HelmBundle.KIND, bundle("a", "b"), MANAGER)
    await world.settle()
    assert await foreseen_losses(world.cluster, [Manifest(HelmBundle.KIND, bundle("a", "b", "c"))]) == []
    assert await foreseen_losses(world.cluster, [Manifest(HelmBundle.KIND, bundle("a"))]) == ["release openstack/b"]


@pytest.mark.looptime
async def test_the_server_of_a_bastion_is_a_loss() -> None:
    world = Clusters()
    world.make(bastion=BASTION)
    await world.ready()
    meta = {"name": "c", "namespace": NAMESPACE}
    same = Manifest(CLUSTERS, {"metadata": meta, "spec": {**MANAGED, "bastion": BASTION}})
    assert await foreseen_losses(world.cluster, [same]) == []
    without = Manifest(CLUSTERS, {"metadata": meta, "spec": {**MANAGED, "bastion": {"enabled": False}}})
    ip = next(t.id for t in world.clouds.all("floating-ip") if t.mark and t.facts.get("port_id"))
    assert await foreseen_losses(world.cluster, [without]) == [
        "OpenStackServer openstack/c-bastion",
        f"server {world.one('server').id} {IN_CLOUD}",
        f"floating-ip bastion {ip} {IN_CLOUD}",
    ]


@pytest.mark.looptime
async def test_a_recreated_server_and_its_disks_are_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await made(**VOLUMES)
    same = {"metadata": {"name": "web", "namespace": NAMESPACE}, "spec": {**SPEC, **VOLUMES}}
    anew = Manifest(SERVERS, {**same, "spec": {**same["spec"], "recreatePolicy": "Always"}})
    asking(monkeypatch, world.clouds)
    assert await foreseen_losses(world.cluster, [anew]) == []
    world.clouds.remove("port", world.one("port").id)
    await world.run(200)
    assert await foreseen_losses(world.cluster, [Manifest(SERVERS, same)]) == []
    volumes = {
        name: next(t.id for t in world.clouds.all("volume") if t.name == f"web-{name}") for name in ("data", "root")
    }
    assert sorted(await foreseen_losses(world.cluster, [anew])) == [
        f"server {world.one('server').id} {IN_CLOUD}",
        *(f"volume {name} {id_} {IN_CLOUD}" for name, id_ in volumes.items()),
    ]
    await world.stop()
    world.change(recreatePolicy="Always")
    assert await foreseen_losses(world.cluster, [anew]) == [], "they go anyway"


@pytest.mark.looptime
async def test_a_server_to_recreate_is_a_loss_if_its_cloud_is_unreachable() -> None:
    world = await made()
    same = {"metadata": {"name": "web", "namespace": NAMESPACE}, "spec": SPEC}
    assert await foreseen_losses(world.cluster, [Manifest(SERVERS, same)]) == []
    anew = {**same, "spec": {**SPEC, "recreatePolicy": "Always"}}
    [told] = await foreseen_losses(world.cluster, [Manifest(SERVERS, anew)])
    assert told.startswith(f"unknown, because {IN_CLOUD.removeprefix('in ')} cannot be queried from here: ")
    world.change(recreatePolicy="Always")
    assert await foreseen_losses(world.cluster, [Manifest(SERVERS, anew)]) == []


@pytest.mark.looptime
async def test_floating_ips_that_a_pool_releases_are_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await pools()
    world.claim("a")
    await world.run(30)
    world.delete(CLAIM, "a")
    await world.run(30)
    [ip] = world.clouds.all("floating-ip")
    asking(monkeypatch, world.clouds)
    pool = world.get(POOLS, "p") or {}
    gone = {"metadata": {"name": "p", "namespace": NAMESPACE}, "spec": {**pool["spec"], "reclaimPolicy": "Delete"}}
    [told] = await foreseen_losses(world.cluster, [Manifest(POOLS, gone)])
    assert told.startswith("floating-ip ") and told.endswith(f"{ip.id} {IN_CLOUD}")


@pytest.mark.looptime
async def test_a_plan_shows_deletions_at_once_that_the_operator_does_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletions in one round let a plan of a large pool end within its rounds."""
    world = await pools()
    names = [f"c{number}" for number in range(3 * REMOVALS)]
    for name in names:
        world.claim(name)
    await world.run(200)
    for name in names:
        world.delete(CLAIM, name)
    await world.run(200)
    assert len(world.ips()) == len(names)
    asking(monkeypatch, world.clouds)
    monkeypatch.setattr(simulate, "ROUNDS", 3)
    pool = world.get(POOLS, "p") or {}
    gone = {"metadata": {"name": "p", "namespace": NAMESPACE}, "spec": {**pool["spec"], "reclaimPolicy": "Delete"}}
    found = await foreseen_losses(world.cluster, [Manifest(POOLS, gone)])
    assert [each.partition(" ")[0] for each in found] == ["floating-ip"] * len(names)


@pytest.mark.looptime
async def test_earlier_deletions_by_others_are_no_losses_of_an_apply() -> None:
    world = Clusters()
    world.make()
    world.machine("m")
    await world.cluster.apply(HelmBundle.KIND, bundle("a", "b"), MANAGER)
    await world.ready(MACHINES, "m")
    await world.stop()
    world.delete(MACHINES, "m")
    assert (world.get(MACHINES, "m") or {})["metadata"]["deletionTimestamp"]
    assert await foreseen_losses(world.cluster, [Manifest(HelmBundle.KIND, bundle("a", "b", "c"))]) == []
    assert await foreseen_losses(world.cluster, [Manifest(HelmBundle.KIND, bundle("a"))]) == ["release openstack/b"]
