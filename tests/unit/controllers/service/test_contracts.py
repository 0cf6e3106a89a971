"""The requests of a service to others: several contracts of one kind, some of which block its release."""

import pytest

from stackwright.api.kinds import POD, SECRET
from stackwright.api.services.contracts import CephClient, DatabaseAccount, KeystoneService, MessagingAccount
from stackwright.cloud.registry import CONTRACT_KINDS
from stackwright.core.objects import secret_data
from stackwright.core.plan import Apply, Delete
from stackwright.services import glance, keystone, mariadb, neutron, nova, rabbitmq
from stackwright.services.context import Context, Settings
from stackwright.services.glance import values as glance_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.rabbitmq.accounts import messaging, notifications
from stackwright.services.registry import SERVICES
from tests.unit.controllers.builders import NAMESPACE, condition
from tests.unit.controllers.service.stage import SETTINGS, Stage


def applied(plan):
    return [action.target for action in plan.actions if isinstance(action, Apply)]


async def test_the_release_waits_for_the_database_and_for_nothing_that_only_runs_later():
    stage = Stage(glance.SERVICE)
    first = await stage.do()
    assert applied(first) == [
        "DatabaseAccount openstack/glance",
        "MessagingAccount openstack/glance-notifications",
        "KeystoneService openstack/glance",
    ]
    assert applied(await stage.do()) == []
    stage.ready(MessagingAccount.KIND, "glance-notifications")
    stage.ready(KeystoneService.KIND, "glance")
    waiting = await stage.do()
    assert applied(waiting) == []
    assert "Waiting for DatabaseAccount openstack/glance" in condition(waiting).message
    stage.ready(DatabaseAccount.KIND, "glance")
    assert applied(await stage.do()) == ["HelmBundle openstack/openstack-glance"]


async def test_a_stage_that_does_not_block_is_shown_and_counts_for_ready():
    stage = Stage(glance.SERVICE)
    await stage.do()
    stage.ready(DatabaseAccount.KIND, "glance")
    await stage.do()
    stage.ready(glance_bundle(), "openstack-glance")
    plan = await stage.plan()
    assert condition(plan, "Release").status is True
    assert condition(plan, "Identity").message == (
        "Waiting for KeystoneService openstack/glance: the operator has not processed it yet"
    )
    assert condition(plan).status is False
    assert plan.status["state"] == "APPLYING"
    stage.ready(KeystoneService.KIND, "glance")
    stage.ready(MessagingAccount.KIND, "glance-notifications")
    assert condition(await stage.plan()).status is True


def glance_bundle():
    from stackwright.api.services.helmbundle import HelmBundle

    return HelmBundle.KIND


async def test_several_contracts_of_one_stage_are_one_condition_with_the_first_unready_one():
    stage = Stage(nova.SERVICE)
    await stage.do()
    await stage.do()
    databases = ("nova", "nova-api")
    for index, name in enumerate(databases):
        plan = await stage.plan()
        assert [c.type for c in plan.conditions].count("Database") == 1
        assert f"DatabaseAccount openstack/{databases[index]}:" in condition(plan, "Database").message
        assert "HelmBundle openstack/openstack-nova" not in applied(plan)
        stage.ready(DatabaseAccount.KIND, name)
    plan = await stage.plan()
    assert condition(plan, "Database").status is True
    assert "HelmBundle openstack/openstack-nova" in applied(plan)


@pytest.mark.parametrize("number", [0, 1])
async def test_a_database_that_is_ready_does_not_hide_one_that_is_not(number):
    stage = Stage(nova.SERVICE)
    await stage.do()
    stage.ready(DatabaseAccount.KIND, ("nova", "nova-api")[number])
    assert condition(await stage.plan(), "Database").status is False


async def test_another_bus_is_the_same_contract_with_another_provider():
    stage = Stage(neutron.SERVICE, spec={"settings": {"messaging_instance": "neutron-rabbitmq"}})
    await stage.do()
    assert stage.cluster.peek(MessagingAccount.KIND, (NAMESPACE, "neutron"))["spec"]["instance"] == "neutron-rabbitmq"
    notes = stage.cluster.peek(MessagingAccount.KIND, (NAMESPACE, "neutron-notifications"))["spec"]
    assert (notes["instance"], notes["sharedVhost"]) == ("rabbitmq", True)


async def test_one_of_two_contracts_of_a_kind_is_deleted_alone():
    stage = Stage(nova.SERVICE)
    await stage.do()
    extra = stage.cluster.peek(DatabaseAccount.KIND, (NAMESPACE, "nova-api"))
    meta = {k: v for k, v in extra["metadata"].items() if k in ("namespace", "labels", "ownerReferences")}
    stage.cluster.put(DatabaseAccount.KIND, {"metadata": {**meta, "name": "nova-cell9"}, "spec": extra["spec"]})
    await stage.do()
    for name in ("nova", "nova-api"):
        stage.ready(DatabaseAccount.KIND, name)
    await stage.do()
    stage.ready(glance_bundle(), "openstack-nova")
    plan = await stage.plan()
    assert [str(action) for action in plan.actions if isinstance(action, Delete)] == [
        "delete DatabaseAccount openstack/nova-cell9"
    ]


async def test_the_ssh_keys_and_the_shared_secret_do_not_change_between_reconciles():
    for declared, name in ((nova.SERVICE, "nova-ssh"), (neutron.SERVICE, "neutron-metadata-proxy")):
        stage = Stage(declared)
        await stage.do()
        first = secret_data(stage.cluster.peek(SECRET, (NAMESPACE, name)))
        await stage.do()
        await stage.do()
        assert secret_data(stage.cluster.peek(SECRET, (NAMESPACE, name))) == first


def test_nova_and_neutron_get_the_shared_secret_in_their_own_formats():
    (secret,) = neutron.SERVICE.secrets(context(neutron.SERVICE))
    made = {name: text.format(secret="S") for name, text in secret.templates.items()}
    assert made == {
        "nova.conf": "[neutron]\nservice_metadata_proxy = true\nmetadata_proxy_shared_secret = S\n",
        "metadata.conf": "[DEFAULT]\nmetadata_proxy_shared_secret = S\n",
    }


def context(declared, **settings):
    from stackwright.api.services.kinds import ServiceSpec

    parsed = declared.settings.model_validate(settings) if declared else Settings()
    return Context(declared.name, NAMESPACE, ServiceSpec(publicDomain="cloud.example"), {}, parsed)


@pytest.mark.parametrize("declared", SERVICES, ids=lambda declared: declared.name)
def test_contracts_and_secrets_of_a_service_have_names_of_their_own(declared):
    made = declared.contracts(context(declared))
    names = [(each.kind, each.name or declared.name) for each in made]
    assert len(set(names)) == len(names)
    secrets = [each.spec["secretName"] for each in made] + [each.name for each in declared.secrets(context(declared))]
    assert len(set(secrets)) == len(secrets)
    gating = {DatabaseAccount.KIND, CephClient.KIND}
    assert all(each.gates is (each.kind in gating) for each in made if declared.name != "keystone")


@pytest.mark.parametrize("declared", SERVICES, ids=lambda declared: declared.name)
def test_no_user_of_a_bus_has_two_passwords(declared):
    """Also where a service has no bus of its own, but shares that of notifications."""
    settings = {"messaging_instance": "rabbitmq"} if "messaging_instance" in declared.settings.model_fields else {}
    asked = declared.contracts(context(declared, **settings))
    users = [(c.spec["instance"], c.spec["username"]) for c in asked if c.kind == MessagingAccount.KIND]
    assert len(set(users)) == len(users)


def test_contracts_are_valid_by_their_models():
    for declared in SERVICES:
        for each in declared.contracts(context(declared)):
            kinds = {r.KIND: r for r in CONTRACT_KINDS}
            kinds[each.kind].model_validate({"metadata": {"name": "x"}, "spec": dict(each.spec)})


def test_names_of_databases_have_no_dash():
    spec = database("nova-api", section="api_database").spec
    assert (spec["database"], spec["username"], spec["section"]) == ("nova_api", "nova_api", "api_database")
    assert spec["secretName"] == "nova-api-database"
    assert notifications("glance").name == "glance-notifications"
    assert messaging("nova", "nova-rabbitmq").provider == "nova-rabbitmq"


def test_the_catalog_names_public_and_internal_urls():
    spec = identity(context(glance.SERVICE, ingress=True), Endpoint("image", "http://i", "https://p", "d", ("nova",)))
    assert spec.spec["endpoints"] == {"internal": "http://i", "public": "https://p"}
    assert spec.spec["sections"] == ["nova"]
    assert glance_values.endpoint(context(glance.SERVICE, ingress=True)).public == "https://glance.cloud.example"
    assert (
        glance_values.endpoint(context(glance.SERVICE)).public == "http://glance-api.openstack.svc.cluster.local:9292"
    )


def pod(name, ready, application, **labels):
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    meta = {"namespace": NAMESPACE, "name": name, "labels": {"application": application, **labels}}
    status = {
        "phase": "Running",
        "conditions": conditions,
        "containerStatuses": [{"name": "c", "state": {"running": {}}}],
    }
    return {"metadata": meta, "status": status}


async def serving(declared, *pods, was_ready=True, spec=None):
    """Serving of an object that is not Ready."""
    stage = Stage(declared, spec)
    live = stage.cluster.peek(declared.kind, (NAMESPACE, declared.name))
    stage.cluster.put(declared.kind, {**live, "status": {"release": "epoxy" if was_ready else ""}})
    for each in pods:
        stage.cluster.put(POD, each)
    plan = await stage.plan()
    assert condition(plan).status is False
    found = condition(plan, "Serving")
    return found.status, found.reason, found.message


SERVES = {
    "mariadb": (mariadb.SERVICE, {"component": "server", "mariadb-role": "primary"}),
    "rabbitmq": (rabbitmq.SERVICE, {"component": "server"}),
    "keystone": (keystone.SERVICE, {"component": "api"}),
}


@pytest.mark.parametrize("name", SERVES)
async def test_a_service_that_was_ready_serves_while_one_pod_responds(name):
    declared, labels = SERVES[name]
    up, down = pod("a-1", True, name, **labels), pod("a-0", False, name, **labels)
    assert await serving(declared, up, down) == (True, "Serving", "")
    broken = {"settings": {"nonsense": True}}
    assert (await serving(declared, up, down, spec=broken))[0], "a spec that is wrong changes nothing that runs"
    cause = "Pod a-0 is running but not ready: its readiness probe fails"
    assert await serving(declared, down) == (False, "NotServing", cause)
    assert not (await serving(declared, up, was_ready=False))[0], "its first users may not be made yet"
    others = [pod("b", True, name, component="other"), pod("c", True, "other", **labels)]
    wanted = ",".join(f"{label}={value}" for label, value in labels.items())
    assert await serving(declared, *others) == (False, "NotServing", f"no pod with {wanted} is ready")


def test_all_providers_of_accounts_report_whether_they_serve():
    from stackwright.controllers.contract import CONTRACTS

    serve = {declared.kind for declared in SERVICES if declared.serves}
    assert serve == {contract.instance_kind for contract in CONTRACTS}


@pytest.mark.parametrize("name", ["rabbitmq", "nova-rabbitmq"])
def test_the_pods_of_one_bus_wake_only_its_object(name):
    from stackwright.controllers.service import controller

    objects = [{"metadata": {"namespace": NAMESPACE, "name": each}} for each in ("rabbitmq", "nova-rabbitmq")]
    (watch,) = [each for each in controller(rabbitmq.SERVICE, SETTINGS).watches if each.kind == POD]
    changed = pod("x", True, name, component="server")
    assert list(watch.keys(changed, lambda kind, namespace: objects)) == [(NAMESPACE, name)]


@pytest.mark.parametrize(("component", "woken"), [("api", [(NAMESPACE, "glance")]), ("db-sync", [])])
def test_the_pods_of_an_api_wake_a_service_with_stores(component, woken):
    from stackwright.controllers.service import controller

    objects = [{"metadata": {"namespace": NAMESPACE, "name": "glance"}}]
    (watch,) = [each for each in controller(glance.SERVICE, SETTINGS).watches if each.kind == POD]
    assert list(watch.keys(pod("x", True, "glance", component=component), lambda kind, namespace: objects)) == woken
