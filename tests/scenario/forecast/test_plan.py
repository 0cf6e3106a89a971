"""`stackwright plan` on a cluster in memory: the same controllers, no helm, no write."""

from __future__ import annotations

import base64
import copy
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from stackwright.api.infra.server import OpenStackServer
from stackwright.api.kinds import NODE, POD, PV, PVC, SECRET, STATEFULSET, STORAGE_CLASS
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cli.ui.steps import lines
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import kind_of
from stackwright.core.errors import TerminalError
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resources import CloudResource, ProjectView
from stackwright.core.plan import HelmUpgrade
from stackwright.core.settings import Settings
from stackwright.forecast.entries import FAIL, NOTE, Entry, summary
from stackwright.forecast.losses import losses
from stackwright.forecast.plan import forecast
from stackwright.forecast.simulate import Outside, Request, simulate
from stackwright.runtime.memory import FrozenClock, MemoryCluster, MemoryHelm
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.nova.kind import Nova
from support.paths import GOLDEN, ROOT
from tests.scenario.world import SETTINGS as WORLD_SETTINGS
from tests.scenario.world import cloud_object, ready_world

NOW = 1_750_000_000.0
PLANS = GOLDEN / "plan"
CLOUD = ("openstack", "cloud")
NAMES = ("mariadb", "rabbitmq", "memcached", "keystone", "keystoneclient", "pause")
SETTINGS = Settings({name: f"registry/{name}:1" for name in NAMES}, dict.fromkeys(NAMES, "1"))


def cloud(**spec: Any) -> dict[str, Any]:
    return cloud_object(CLOUD[1], CLOUD[0], **spec)


def applied(*objects: dict[str, Any]) -> Request:
    return Request("openstack", tuple((OpenStackDeployment.KIND, obj) for obj in objects))


def empty() -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.put(NODE, {"metadata": {"name": "node1", "labels": {"openstack-control-plane": "enabled"}}})
    notes = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster.put(STORAGE_CLASS, {"metadata": {"name": "standard", "annotations": notes}})
    return cluster


async def deployed(**spec: Any) -> MemoryCluster:
    """A cluster in which the cloud is ready: the result of a forecast of its installation."""
    return await installed(empty, SETTINGS, cloud(**spec))


_INSTALLED: dict[str, MemoryCluster] = {}


async def installed(nodes: Callable[[], MemoryCluster], settings: Settings, wanted: dict[str, Any]) -> MemoryCluster:
    """The same for any cloud; each is forecast once, and every caller gets a copy."""
    name = json.dumps([nodes.__name__, wanted], sort_keys=True)
    if name not in _INSTALLED:
        result = await simulate(nodes(), settings, applied(wanted), NOW)
        assert result.settled and not result.stuck
        _INSTALLED[name] = result.world
    made = copy.copy(_INSTALLED[name])
    made._objects, made._hidden = dict(made._objects), set(made._hidden)
    made.writes, made.events, made._listeners = [], [], []
    return made


async def planned(cluster: MemoryCluster, request: Request, settings: Settings = SETTINGS) -> list[Entry]:
    found, stuck = await forecast(cluster, settings, request, NOW + 200)
    assert not stuck
    assert not cluster.writes, "a plan writes nothing"
    return found


def golden(name: str, found: list[Entry], *, full: bool = False) -> None:
    text = "\n".join([*lines(found, full=full), "", summary(found)]) + "\n"
    path = PLANS / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def overridden(expiration: int) -> dict[str, Any]:
    values = {"conf": {"keystone": {"token": {"expiration": expiration}}}}
    return {"identity": {"keystone": {"values": values}}}


async def test_a_first_installation() -> None:
    golden("install", await planned(empty(), applied(cloud(services=overridden(3600)))))


async def test_a_first_installation_with_its_own_ceph() -> None:
    """The credentials of the small Ceph are known in advance."""
    names = (*NAMES, "ceph", "cinder", "etcd")
    settings = Settings({name: f"registry/{name}:1" for name in names}, dict.fromkeys(names, "1"))
    asked = cloud(features={"services": ["ceph", "block-storage"]})
    found = await planned(empty(), applied(asked), settings)
    made = {str(entry) for entry in found}
    for name in ("openstack-ceph", "openstack-cinder", "openstack-etcd"):
        assert any(name in each for each in made)


async def test_nothing_changed_nothing_to_do() -> None:
    cluster = await deployed()
    assert await planned(cluster, applied(cloud())) == []
    assert await planned(cluster, Request("openstack")) == []


async def test_an_override_of_a_service_changes_one_release() -> None:
    found = await planned(await deployed(), applied(cloud(services=overridden(3600))))
    upgrades = [entry for entry in found if entry.verb == "helm"]
    assert [entry.what for entry in upgrades] == ["release openstack/openstack-keystone, chart keystone"]
    [sourced] = upgrades[0].changes
    assert str(sourced.change) == "conf.keystone.token.expiration: 43200 → 3600"
    assert sourced.source == "spec.services"
    golden("override", found)


async def test_a_removed_override_names_its_former_level() -> None:
    found = await planned(await deployed(services=overridden(3600)), applied(cloud()))
    [sourced] = next(entry for entry in found if entry.verb == "helm").changes
    assert (str(sourced.change), sourced.source) == (
        "conf.keystone.token.expiration: 3600 → 43200",
        "no longer in spec.services",
    )


async def test_a_common_value_reaches_the_charts_of_its_group_and_no_other() -> None:
    common = {"openstack": {"values": {"pod": {"tolerations": {"enabled": True}}}}}
    found = await planned(await deployed(), applied(cloud(common=common)))
    assert {entry.what.split(",")[0] for entry in found if entry.verb == "helm"} == {
        "release openstack/openstack-keystone",
        "release openstack/openstack-keystoneclient",
    }
    golden("common", found)


async def test_other_charts_are_an_upgrade_without_changed_values() -> None:
    newer = Settings(SETTINGS.images, {**SETTINGS.charts, "memcached": "2"})
    found = [e for e in await planned(await deployed(), Request("openstack"), newer) if e.does != "wait"]
    bundle, entry = found
    assert bundle.what == "HelmBundle openstack/openstack-memcached"
    assert entry.what == "release openstack/openstack-memcached, chart memcached"
    assert "other chart" in entry.note


async def test_another_image_is_fetched_by_the_nodes_before_its_release_is_upgraded() -> None:
    newer = Settings({**SETTINGS.images, "memcached": "registry/memcached:2"}, SETTINGS.charts)
    found = await planned(await deployed(), Request("openstack"), newer)
    assert [(entry.verb, entry.what) for entry in found if entry.does != "wait"] == [
        ("apply", "DaemonSet openstack/image-precaching"),
        ("apply", "HelmBundle openstack/openstack-memcached"),
        ("helm", "release openstack/openstack-memcached, chart memcached"),
    ]
    golden("image", found)


async def test_a_removed_service_is_deleted_with_all_its_objects() -> None:
    found = await planned(await deployed(), applied(cloud(features={"services": ["~messaging"]})))
    golden("remove", found)


async def test_deleting_a_cloud() -> None:
    request = Request("openstack", delete=((OpenStackDeployment.KIND, CLOUD),))
    golden("delete", await planned(await deployed(), request))


async def test_a_foreign_edit_is_reverted() -> None:
    cluster = await deployed()
    edited = copy.deepcopy(await cluster.get(MariaDB.KIND, ("openstack", "mariadb"))) or {}
    edited["spec"]["logLevel"] = "DEBUG"
    cluster.put(MariaDB.KIND, edited)
    found = await planned(cluster, Request("openstack"))
    entry = next(entry for entry in found if entry.what == "MariaDB openstack/mariadb")
    assert "reverts the edit" in entry.why
    assert [str(each.change) for each in entry.changes] == ["spec.logLevel: DEBUG → INFO"]


async def test_blocking_causes_are_reported() -> None:
    cluster = MemoryCluster()  # no node
    found, stuck = await forecast(cluster, SETTINGS, applied(cloud()), NOW)
    assert not any(entry.verb == "helm" for entry in found)
    assert any("kubectl label node" in cause.message for cause in stuck.values())


async def test_no_secret_is_shown() -> None:
    cluster = await deployed()
    values = {
        "conf": {"keystone": {"ldap": {"password": {"value_from": {"secret_key_ref": {"name": "l", "key": "p"}}}}}}
    }
    secret = {"metadata": {"namespace": "openstack", "name": "l"}, "data": {"p": "aHVzaGh1c2g="}}
    cluster.put(SECRET, secret)
    plain = {"conf": {"keystone": {"ldap": {"user_password": "hushhush"}}}}
    services = {"identity": {"keystone": {"values": {"conf": {"keystone": {"ldap": {
        **values["conf"]["keystone"]["ldap"], **plain["conf"]["keystone"]["ldap"]}}}}}}}  # fmt: skip
    found = await planned(cluster, applied(cloud(services=services)))
    text = "\n".join(lines(found, full=True)) + str([entry.as_dict() for entry in found])
    assert "hushhush" not in text and "aHVzaGh1c2g" not in text
    assert "***" in text
    assert any("from Secret l" in entry.note for entry in found)


async def test_a_bundle_that_was_not_deployed_is_compared_with_a_warning() -> None:
    cluster = await deployed()
    bundle = copy.deepcopy(await cluster.get(HelmBundle.KIND, ("openstack", "openstack-memcached"))) or {}
    bundle["spec"]["releases"][0]["values"]["conf"]["memcached"]["memory"] = 128
    cluster.put(HelmBundle.KIND, bundle)
    found = await planned(cluster, Request("openstack"))
    assert any("not known" in entry.note for entry in found if entry.verb == "helm") or any(
        "reverts the edit" in entry.why for entry in found
    )


@pytest.mark.parametrize("name", ["install", "override"])
async def test_machine_readable(name: str) -> None:
    found = await planned(await deployed(), applied(cloud(services=overridden(3600))))
    assert json.loads(json.dumps([entry.as_dict() for entry in found]))


async def test_a_cloud_with_its_secret_in_the_same_file_would_become_ready() -> None:
    reference = {"value_from": {"secret_key_ref": {"name": "directory", "key": "password"}}}
    values = {"conf": {"keystone": {"ldap": {"password": reference}}}}
    secret = {"metadata": {"namespace": CLOUD[0], "name": "directory"}, "stringData": {"password": "a-word"}}
    wanted = cloud(services={"identity": {"keystone": {"values": values}}})
    both = Request("openstack", ((SECRET, secret), (OpenStackDeployment.KIND, wanted)))
    found = await planned(empty(), both)
    assert not any("a-word" in str(entry.as_dict()) for entry in found)


async def test_a_release_with_a_history_is_upgraded_once() -> None:
    cluster = await deployed()
    release = (CLOUD[0], "openstack-keystone")
    record = cluster.all(SECRET, CLOUD[0], {"owner": "helm", "name": release[1]})[0]
    digest = record["metadata"]["labels"]["stackwright.dev/digest"]
    helm = MemoryHelm(cluster, FrozenClock(NOW))
    for revision, state in ((1, "superseded"), (2, "superseded"), (3, "deployed")):
        helm.record(release, revision, state, digest)
    cluster.writes.clear()
    found = await planned(cluster, applied(cloud(services=overridden(3600))))
    assert [entry.verb for entry in found].count("helm") == 1, lines(found)


@pytest.mark.looptime
async def test_an_upgrade_that_kubernetes_rejected_is_reported_with_its_cause() -> None:
    world = await ready_world()
    world.helm.refuse["memcached"] = "quantities must match the regular expression"
    world.cloud(services={"memcached": {"memcached": {"values": {"conf": {"memcached": {"memory": 99}}}}}})
    await world.run(30)
    await world.stop()
    found, _ = await forecast(world.cluster, WORLD_SETTINGS, Request("openstack"), world.clock.now())
    told = "\n".join(lines(found))
    assert "failed: Release openstack-memcached failed: quantities must match the regular expression" in told
    assert "other chart" not in told


def server(**spec: Any) -> dict[str, Any]:
    manifest = yaml.safe_load((ROOT / "examples/server-volumes.yaml").read_text())
    return {**manifest, "metadata": {"name": "web", "namespace": "openstack"}, "spec": {**manifest["spec"], **spec}}


async def test_a_server_is_planned_resource_by_resource_without_access_to_its_cloud() -> None:
    request = Request("openstack", ((OpenStackServer.KIND, server()),))
    golden("server", await planned(empty(), request))


def told(found: list[Entry], verb: str) -> list[str]:
    return [f"{entry.what} ({entry.why})" if entry.why else entry.what for entry in found if entry.verb == verb]


def claimed(cluster: MemoryCluster, policy: str) -> None:
    """Kubernetes' objects for the release of MariaDB."""
    labels = {"app.kubernetes.io/instance": "openstack-mariadb"}
    meta = {"namespace": "openstack", "name": "mariadb-server", "labels": labels}
    policies = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    spec = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}], "persistentVolumeClaimRetentionPolicy": policies}
    cluster.put(STATEFULSET, {"metadata": meta, "spec": spec})
    cluster.put(PV, {"metadata": {"name": "pvc-1"}, "spec": {"persistentVolumeReclaimPolicy": policy}})
    for name in ("data-mariadb-server-0", "data-mariadb-server-x", "mine"):
        request = {"resources": {"requests": {"storage": "5Gi"}}, "volumeName": "pvc-1"}
        cluster.put(PVC, {"metadata": {"namespace": "openstack", "name": name}, "spec": request})
    cluster.writes.clear()


async def test_losses_of_a_deleted_cloud_are_named_down_to_its_volumes() -> None:
    cluster = await deployed()
    claimed(cluster, "Delete")
    found = await planned(cluster, Request("openstack", delete=((OpenStackDeployment.KIND, CLOUD),)))
    assert told(found, "lost") == [
        "database keystone of MariaDB openstack/mariadb",
        "claim openstack/data-mariadb-server-0 with volume pvc-1 (5Gi)",
    ]
    assert set(told(found, "lost")) <= set(losses(found))


async def test_a_volume_that_is_retained_is_not_lost() -> None:
    cluster = await deployed()
    claimed(cluster, "Retain")
    found = await planned(cluster, Request("openstack", delete=((OpenStackDeployment.KIND, CLOUD),)))
    assert told(found, "lost") == ["database keystone of MariaDB openstack/mariadb"]


async def test_a_value_that_no_test_uses_in_a_real_cloud_is_named() -> None:
    wanted = cloud(features={"nova": {"console": {"novnc": {"enabled": False}}}, "services": ["~dashboard"]})
    found, _ = await forecast(empty(), SETTINGS, applied(wanted), NOW)
    told = [entry for entry in found if entry.verb == "untested"]
    assert [entry.what for entry in told] == ["features.nova.console.novnc.enabled: false"]
    assert lines(told) == [f"  ! untested: {told[0].what}  (only rendered in tests; no test uses it in a real cloud)"]


async def test_a_single_service_is_reported_in_the_same_words() -> None:
    spec = {"release": "epoxy", "size": "single", "settings": {"console": {"novnc": {"enabled": False}}}}
    nova = {"metadata": {"name": "nova", "namespace": "openstack"}, "spec": spec}
    request = Request("openstack", ((Nova.KIND, nova),))
    found, _ = await forecast(empty(), SETTINGS, request, NOW)
    told = [entry.what for entry in found if entry.verb == "untested"]
    assert told == ["features.nova.console.novnc.enabled: false"]


async def test_a_missing_storage_class_is_named_with_the_releases_that_need_it() -> None:
    found = await planned(empty(), applied(cloud(local_volume_storage_class="fast")))
    assert told(found, "missing") == [
        "StorageClass fast, for claims of openstack/openstack-mariadb, openstack/openstack-rabbitmq"
    ]
    none = empty()
    none.remove(STORAGE_CLASS, ("", "standard"))
    assert told(await planned(none, applied(cloud())), "missing")[0].startswith("a default StorageClass, for claims of")
    cluster = await deployed()
    cluster.remove(STORAGE_CLASS, ("", "standard"))
    assert told(await planned(cluster, applied(cloud(services=overridden(3600)))), "missing") == []


def manifests(**workloads: int) -> str:
    """Manifests of Deployments with these names, each with a different value in its template."""
    return yaml.safe_dump_all(
        {
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {"replicas": 1, "strategy": {"type": "Recreate"}, "template": {"spec": {"x": content}}},
        }
        for name, content in workloads.items()
    )


async def test_pods_that_an_upgrade_restarts_are_named_by_the_record_of_helm_and_the_new_manifests() -> None:
    cluster = await deployed()
    record = cluster.all(SECRET, CLOUD[0], {"owner": "helm", "name": "openstack-keystone"})[0]
    payload = json.dumps({"info": {}, "manifest": manifests(api=1, cron=1)}).encode()
    data = {"release": base64.b64encode(base64.b64encode(payload)).decode()}
    cluster.put(SECRET, {**record, "data": data})
    cluster.writes.clear()

    async def render(action: HelmUpgrade) -> str:
        assert action.release == ("openstack", "openstack-keystone")
        return manifests(api=2, cron=1, new=1)

    request = applied(cloud(services=overridden(3600)))
    found, _ = await forecast(cluster, SETTINGS, request, NOW + 200, None, render)
    assert told(found, "restart") == ["Deployment api (1 pod; the service is interrupted)"]
    assert "  ! restarts: Deployment api  (1 pod; the service is interrupted)" in lines(found)
    assert losses(found) == []

    selector = {"matchLabels": {"application": "m", "component": "server"}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for number in range(2):
        meta = {"namespace": CLOUD[0], "name": f"api-{number}", "labels": selector["matchLabels"]}
        cluster.put(POD, {"metadata": meta, "spec": {"nodeName": "x"}})

    async def apart(action: HelmUpgrade) -> str:
        new = {"replicas": 2, "volumeClaimTemplates": [{}], "template": {"spec": {"affinity": anti}}}
        return yaml.safe_dump({"kind": "StatefulSet", "metadata": {"name": "api"}, "spec": new})

    cluster.put(SECRET, {**record, "data": {"release": ""}})
    found, _ = await forecast(cluster, SETTINGS, request, NOW + 200, None, apart)
    assert "api-0 and api-1 share node x" in told(found, "restart")[0]

    async def refuse(action: HelmUpgrade) -> str:
        raise TerminalError("helm template: replicas: Invalid type")

    found, _ = await forecast(cluster, SETTINGS, request, NOW + 200, None, refuse)
    [failed] = [entry for entry in found if entry.does == FAIL]
    assert (failed.what, failed.why) == (
        "release openstack/openstack-keystone",
        "helm template: replicas: Invalid type",
    )


class Empty:
    """An OpenStack without resources, flavors and images."""

    async def subscribe(self, *_: Any) -> None:
        pass

    def view(self, *_: Any) -> ProjectView:
        return ProjectView(())

    async def find(self, *_: Any) -> tuple[CloudResource, ...]:
        return ()


async def test_a_missing_flavor_and_image_are_named() -> None:
    request = Request("openstack", ((OpenStackServer.KIND, server()),))
    outside: Any = Outside(clouds=Empty())
    _, stuck = await forecast(empty(), SETTINGS, request, NOW, outside)
    [cause] = stuck.values()
    assert "flavor" in cause.message and "image" in cause.message


class Unreachable:
    """Like a cloud whose address only pods can reach."""

    async def subscribe(self, *_: Any) -> Any:
        raise TransientCloudError("Unreachable", "http://keystone-api.openstack.svc:5000/v3: Name or service not known")

    find = subscribe


async def test_an_unreachable_cloud_is_named_with_its_address_and_the_plan_continues() -> None:
    request = Request("openstack", ((OpenStackServer.KIND, server()),))
    outside: Any = Outside(clouds=Unreachable())
    found, stuck = await forecast(empty(), SETTINGS, request, NOW, outside)
    assert not stuck
    note, *rest = found
    assert note.does == NOTE
    assert note.what == (
        "cloud stackwright of Secret openstack/stackwright-clouds cannot be queried from here: "
        "http://keystone-api.openstack.svc:5000/v3: Name or service not known"
    )
    assert rest == (await forecast(empty(), SETTINGS, request, NOW))[0]
    assert summary([note]) == ""


class WithoutSecret:
    async def subscribe(self, *_: Any) -> None:
        pass

    def view(self, *_: Any) -> Any:
        raise TransientCloudError("CredentialsMissing", "Secret openstack/stackwright-clouds does not exist")

    async def find(self, *_: Any) -> Any:
        self.view()


@pytest.mark.parametrize("pool", [{}, {"floatingIPPoolRef": {"kind": "OpenStackFloatingIPPool", "name": "p"}}])
async def test_an_object_without_credentials_is_stuck(pool: dict[str, Any]) -> None:
    wanted = server()
    wanted["spec"] |= pool
    request = Request("openstack", ((OpenStackServer.KIND, wanted),))
    outside: Any = Outside(clouds=WithoutSecret())
    found, stuck = await forecast(empty(), SETTINGS, request, NOW, outside)
    told = {"OpenStackServer openstack/web": "Secret openstack/stackwright-clouds does not exist (CredentialsMissing)"}
    assert {name: str(cause) for name, cause in stuck.items()} == told
    assert [f"{each.does} {each.what}" for each in found] == ["create OpenStackServer openstack/web"]


async def test_losses_are_foreseen_as_if_credentials_were_there() -> None:
    request = Request("openstack", ((OpenStackServer.KIND, server()),), assuming=True)
    outside: Any = Outside(clouds=WithoutSecret())
    found, stuck = await forecast(empty(), SETTINGS, request, NOW, outside)
    assert not stuck
    assert found[0].verb == "ask"
    assert found[1:] == (await forecast(empty(), SETTINGS, request, NOW))[0]


async def test_resources_of_a_server_are_planned_to_be_deleted_with_it() -> None:
    first = await simulate(empty(), SETTINGS, Request("openstack", ((OpenStackServer.KIND, server()),)), NOW)
    assert first.settled and not first.stuck
    first.world.writes.clear()
    gone = Request("openstack", delete=((OpenStackServer.KIND, ("openstack", "web")),))
    golden("server-gone", await planned(first.world, gone))


def cluster() -> Request:
    found = yaml.safe_load_all((ROOT / "examples/cluster.yaml").read_text())
    objects = [{**obj, "metadata": {**obj["metadata"], "namespace": "openstack"}} for obj in found]
    return Request("openstack", tuple((kind_of(obj["kind"]), obj) for obj in objects))


async def test_a_cluster_is_planned_with_its_bastion_and_its_machines() -> None:
    golden("cluster", await planned(empty(), cluster()))


async def test_a_clusters_deletion_is_planned_after_its_machines() -> None:
    first = await simulate(empty(), SETTINGS, cluster(), NOW)
    assert first.settled and not first.stuck
    first.world.writes.clear()
    gone = Request(
        "openstack", delete=tuple((kind, ("openstack", obj["metadata"]["name"])) for kind, obj in cluster().apply)
    )
    golden("cluster-gone", await planned(first.world, gone))
