"""The full core cloud: all services from nothing to Ready, its cost, and adding and removing a service."""

import json
from dataclasses import replace

import pytest

import tests.scenario.world as module
from stackwright.api.kinds import DAEMONSET, DEPLOYMENT, SECRET
from stackwright.api.services.contracts import KeystoneService, MessagingAccount
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.registry import CONTRACT_KINDS
from stackwright.core.objects import secret_data
from stackwright.core.settings import Settings
from stackwright.services.placement import values as placement_values
from tests.scenario.world import EVERY_ROLE, NAMESPACE, SETTINGS, UNREADY, World, built_world, ready_world

pytestmark = pytest.mark.looptime
WITHOUT_IMAGES = {"services": ["~image"]}


def host(instance):
    return f"{instance}.openstack.svc"


async def test_all_services_become_ready_at_every_level():
    world = await ready_world(whole=True)
    status = world.osdpl["status"]
    assert status["progress"] == "12/12"
    assert {name: state["state"] for name, state in status["services"].items()} == dict.fromkeys(
        (
            "database", "messaging", "nova-rabbitmq", "neutron-rabbitmq", "memcached", "identity",
            "ingress", "image", "placement", "networking", "compute", "dashboard",
        ),
        "APPLIED",
    )  # fmt: skip
    assert all(child["ready"] for child in status["children"].values())
    ready, _, total = status["healthSummary"].partition("/")
    assert ready == total
    types = [entry["type"] for entry in status["conditions"]]
    assert {"Images", "NovaRabbitmq", "NeutronRabbitmq", "Nova", "Neutron", "Ingress"} <= set(types)


async def test_cached_objects_are_never_mutated():
    """The API server in memory, its listeners and its copies share the objects."""
    world, told = await ready_world(whole=True), []
    world.cluster.subscribe(lambda event, kind, obj: told.append((obj, json.dumps(obj))))
    world.cloud(whole=True, features={"services": ["~dashboard"]}, region_name="Elsewhere")
    await world.settle()
    assert len(told) > 100
    assert [obj["metadata"]["name"] for obj, text in told if json.dumps(obj) != text] == []


async def test_a_second_reconcile_of_the_whole_cloud_writes_nothing():
    world = await ready_world(whole=True)
    before = world.writes
    await world.run(3600)
    await world.stop()
    await world.settle()
    assert len(world.reconciles) > 40
    assert world.writes == before


async def test_the_cost_of_the_whole_cloud():
    world, _ = await built_world(whole=True)
    # Ceilings, not figures: a change that makes the operator write more must be noticed. Each HelmBundle names its
    # releases in its status before Helm runs.
    assert len(world.reconciles) <= 790
    assert world.writes <= 585
    assert [verb for verb, _ in world.helm.calls] == ["upgrade"] * 15
    assert [len(provider.calls) for provider in world.accounts] == [6, 5, 4]


async def test_each_service_has_its_own_accounts_with_the_passwords_in_its_secrets():
    world = await ready_world(whole=True)
    passwords = world.state()["passwords"]
    assert passwords and all(passwords.values())
    assert {(where, user) for where, user in world.accounts.messaging.users} == {
        (host("nova-rabbitmq"), "nova"),
        (host("neutron-rabbitmq"), "neutron"),
        *((host("rabbitmq"), user) for user in ("glance", "nova", "neutron")),
    }
    assert (host("rabbitmq"), "notifications") in world.accounts.messaging.vhosts
    databases = {name for _, name in world.accounts.database.databases}
    assert databases == {"keystone", "glance", "placement", "neutron", "nova", "nova_cell0", "nova_api"}
    assert world.accounts.identity.catalog.keys() == {"glance", "placement", "neutron", "nova"}


async def test_public_endpoints_have_the_names_that_the_ingress_serves():
    world = await ready_world(whole=True)
    public = {name: spec["endpoints"]["public"] for name, spec in world.accounts.identity.catalog.items()}
    assert public == {
        "glance": "https://glance.it.just.works",
        "placement": "https://placement.it.just.works",
        "neutron": "https://neutron.it.just.works",
        "nova": "https://nova.it.just.works/v2.1",
    }


async def test_no_password_key_or_certificate_is_in_any_object_but_secrets():
    world = await ready_world(whole=True)
    found = {}
    for obj in world.cluster.all(SECRET):
        found |= dict.fromkeys(secret_data(obj).values(), obj["metadata"]["name"])
    private = [text for text in found if "PRIVATE KEY" in text or len(text) == 32]
    assert len(private) > 20
    everything = str([obj for (kind, _), obj in world.cluster._objects.items() if kind != SECRET])
    assert not [found[text] for text in private if text in everything or repr(text)[1:-1] in everything]


async def test_a_service_that_is_removed_leaves_no_contract_and_no_secret_behind():
    world = await ready_world(whole=True)
    calls, before = len(world.helm.calls), world.state()["objects"]
    world.cloud(whole=True, features=WITHOUT_IMAGES)
    await world.settle()
    assert world.ready()
    assert ("uninstall", (NAMESPACE, "openstack-glance")) in world.helm.calls[calls:]
    left = [f"{r.KIND.kind} {name}" for r in CONTRACT_KINDS for name in world.names(r.KIND) if "glance" in name]
    left += [name for name in world.names(SECRET) if "glance" in name]
    assert left == []
    assert not [user for user in (*world.accounts.database.users, *world.accounts.messaging.users) if "glance" in user]
    assert "glance" not in world.accounts.identity.users and "glance" not in world.accounts.identity.catalog
    assert (host("rabbitmq"), "notifications") in world.accounts.messaging.vhosts, "others tell their events there"
    assert world.state()["objects"].keys() == {name for name in before if "glance" not in name.lower()}


async def test_a_dedicated_bus_is_deleted_when_it_has_no_more_users():
    world = await ready_world(whole=True)
    world.cloud(whole=True, features={"messaging": {"components_with_dedicated_messaging": ["compute"]}})
    await world.settle()
    assert world.ready()
    assert "openstack-neutron-rabbitmq" not in world.names(HelmBundle.KIND)
    assert world.get(MessagingAccount.KIND, "neutron")["spec"]["instance"] == "rabbitmq"
    assert (host("rabbitmq"), "neutron") in world.accounts.messaging.vhosts
    assert secret_data(world.get(SECRET, "neutron-messaging"))["host"] == host("rabbitmq")


async def test_another_image_touches_only_the_release_that_runs_it(monkeypatch):
    world = await ready_world(whole=True)
    await world.stop()
    calls = len(world.helm.calls)
    newer = Settings({**SETTINGS.images, "placement": "example.org/placement:2"}, SETTINGS.charts)
    monkeypatch.setattr(module, "SETTINGS", newer)
    await world.settle()
    assert world.ready()
    assert world.helm.calls[calls:] == [("upgrade", (NAMESPACE, "openstack-placement"))]


async def test_a_new_chart_is_deployed_once_with_values_of_its_operator(monkeypatch):
    world = await ready_world(whole=True)
    await world.stop()
    calls = len(world.helm.calls)
    sizes = {**placement_values.SIZES, "single": replace(placement_values.SIZES["single"], workers=7)}
    monkeypatch.setattr(placement_values, "SIZES", sizes)
    monkeypatch.setattr(module, "SETTINGS", Settings(SETTINGS.images, {**SETTINGS.charts, "placement": "2"}))
    await world.settle()
    assert world.ready()
    assert world.helm.calls[calls:] == [("upgrade", (NAMESPACE, "openstack-placement"))]
    [release] = world.bundle("placement")["spec"]["releases"]
    assert (release["chartDigest"], release["values"]["conf"]["placement_api_uwsgi"]["uwsgi"]["processes"]) == ("2", 7)


async def test_a_new_compute_node_reaches_all_services_that_depend_on_it():
    world = await ready_world(whole=True)
    calls, before = len(world.helm.calls), secret_data(world.get(SECRET, "libvirt-tls"))
    world.node("node-2", EVERY_ROLE)
    await world.settle()
    assert world.ready()
    upgraded = {name for verb, (_, name) in world.helm.calls[calls:]}
    assert "openstack-nova" in upgraded
    assert world.bundle("nova")["spec"]["releases"][1]["values"]["conf"]["hosts"] == ["node-1", "node-2"]
    after = secret_data(world.get(SECRET, "libvirt-tls"))
    assert after["tls.crt"] != before["tls.crt"] and after["ca.crt"] == before["ca.crt"]
    assert world.get(DAEMONSET, "nova-compute")["status"]["numberReady"] == 2


async def test_services_are_installed_side_by_side_while_keystone_is_not_ready_yet():
    world = World()
    world.kubelet.broken["keystone-api"] = UNREADY
    world.cloud(whole=True)
    await world.settle()
    assert not world.ready()
    installed = {name for verb, (_, name) in world.helm.calls}
    assert {"openstack-glance", "openstack-nova", "openstack-neutron", "openstack-placement"} <= installed
    assert not world.accounts.identity.catalog
    for name in ("Glance", "Nova", "Neutron", "Placement"):
        assert "Waiting for KeystoneService" in world.condition(name)[2]
    world.kubelet.broken.clear()
    world.kubelet.sync(DEPLOYMENT, "keystone-api")
    await world.settle()
    assert world.ready()
    assert set(world.names(KeystoneService.KIND)) == set(world.accounts.identity.catalog)
