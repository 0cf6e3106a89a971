"""Values, keys and contracts of Barbican, derived from a cloud; and what services with its keys get."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from stackwright.api.kinds import SECRET
from stackwright.api.services.contracts import KeystoneServiceSpec
from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.controllers.service.objects import bundle
from stackwright.core.objects import secret_data
from stackwright.core.plan import Plan
from stackwright.core.secrets.fernet import ROTATED
from stackwright.core.secrets.writes import RotateKeys
from stackwright.services import barbican, cinder, glance, nova
from stackwright.services.barbican import values as barbican_values
from stackwright.services.barbican.features import BarbicanFeatures, Vault
from stackwright.services.context import Context, Values
from stackwright.services.declaration import Service
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.registry import PRESETS
from tests.unit.controllers.builders import NAMESPACE
from tests.unit.controllers.service.stage import Stage

SIZES: tuple[Size, ...] = ("single", "tiny", "small", "medium")
KEY = (NAMESPACE, barbican_values.KEK)


def reference(name: str, key: str) -> dict[str, Any]:
    return {"value_from": {"secret_key_ref": {"name": name, "key": key}}}


VAULT = {
    "vault_url": "https://vault.example:8200",
    "approle_role_id": reference("vault", "role"),
    "approle_secret_id": reference("vault", "id"),
}


def context(size: Size = "single", declared: Service = barbican.SERVICE, **settings: object) -> Context:
    spec = ServiceSpec(size=size, public_domain="cloud.example", storage_class="local", region="Here")
    return Context(declared.name, NAMESPACE, spec, {}, declared.settings.model_validate(settings))


def values(size: Size = "single", **settings: object) -> Values:
    return barbican.SERVICE.charts[0].values(context(size, **settings))


def with_vault(**more: object) -> dict[str, Any]:
    return {"backends": {"vault": {**VAULT, **more}}}


def test_no_preset_contains_it() -> None:
    assert not any("key-manager" in services for services in PRESETS.values())


def test_the_catalog_has_it_and_its_user_only_validates_tokens() -> None:
    (found,) = [
        each for each in barbican.SERVICE.contracts(context(ingress=True)) if each.kind.kind == "KeystoneService"
    ]
    spec = KeystoneServiceSpec.model_validate(found.spec)
    assert (spec.service_name, spec.service_type, spec.username) == ("barbican", "key-manager", "barbican")
    assert spec.endpoints.internal == f"http://barbican-api.{NAMESPACE}.svc.cluster.local:9311"
    assert spec.endpoints.public == "https://barbican.cloud.example"
    assert spec.roles == ["service"]
    assert spec.additional_roles == ["creator", "observer", "audit", "key-manager:service-admin"]
    assert spec.region == "Here"


@pytest.mark.parametrize("ingress", [True, False])
def test_references_have_the_address_of_users(*, ingress: bool) -> None:
    href = values(ingress=ingress)["conf"]["barbican"]["DEFAULT"]["host_href"]
    internal = f"http://barbican-api.{NAMESPACE}.svc.cluster.local:9311"
    assert href == ("https://barbican.cloud.example" if ingress else internal)


@pytest.mark.parametrize("size", SIZES)
def test_larger_clouds_have_more_pods_and_processes(size: Size) -> None:
    built, limits = values(size), barbican_values.SIZES[size]
    assert built["pod"]["replicas"] == {"api": limits.api, "worker": limits.worker}
    assert built["conf"]["barbican"]["queue"] == {"asynchronous_workers": limits.worker_processes}
    assert built["conf"]["barbican_api_uwsgi"]["uwsgi"]["processes"] == limits.api_workers >= 2


def test_the_purge_can_be_disabled() -> None:
    assert values()["cron"]["db_purge"] == {"schedule": "1 0 * * 1", "age": 30}
    assert values(cleanup={"enabled": False})["cron"]["db_purge"]["schedule"] == ""


def test_an_own_bus_is_used() -> None:
    found = barbican.SERVICE.contracts(context(messaging_instance="barbican-rabbitmq"))
    (bus,) = [each for each in found if each.kind.kind == "MessagingAccount"]
    assert (bus.provider, bus.spec["username"]) == ("barbican-rabbitmq", "barbican")


def test_simple_crypto_is_the_only_store_by_default() -> None:
    conf = values()["conf"]["barbican"]
    assert "secretstore" not in conf and "vault_plugin" not in conf, "as in the chart"
    assert barbican.SERVICE.sensitive(context().settings) == {}


def test_vault_stores_new_secrets_and_simple_crypto_still_reads_its_own() -> None:
    conf = values(**with_vault(namespace="team", kv_mountpoint="kv/barbican", kv_version=1))["conf"]["barbican"]
    assert conf["secretstore"]["enabled_secretstore_plugins"]["values"] == ["store_crypto", "vault_plugin"]
    assert conf["secretstore:vault"] == {"secret_store_plugin": "vault_plugin", "global_default": True}
    assert "global_default" not in conf["secretstore:simple_crypto"]
    assert conf["vault_plugin"] == {
        "vault_url": "https://vault.example:8200",
        "use_ssl": True,
        "kv_mountpoint": "kv/barbican",
        "kv_version": 1,
        "namespace": "team",
    }


def test_credentials_for_vault_are_references_and_never_values() -> None:
    settings = with_vault(ssl_ca_crt_file=reference("authority", "ca.pem"))
    assert barbican.SERVICE.sensitive(context(**settings).settings) == {
        "vault_plugin": {"approle_role_id": ("vault", "role"), "approle_secret_id": ("vault", "id")}
    }
    built = values(**settings)
    assert built["secrets"]["vault_ca"] == {"name": "authority", "key": "ca.pem"}
    assert "approle" not in str(built)


def test_a_disabled_vault_is_not_used() -> None:
    assert values(backends={"vault": {**VAULT, "enabled": False}}) == values()
    assert Vault(enabled=False).vault_url is None


@pytest.mark.parametrize(
    ("vault", "said"),
    [
        ({}, "vault_url, approle_role_id, approle_secret_id: required, unless enabled is false"),
        ({**VAULT, "vault_url": "ftp://vault"}, "must be a URL"),
        ({**VAULT, "vault_url": "http://vault", "use_ssl": True}, "must begin with https://, because use_ssl is true"),
        (
            {**VAULT, "vault_url": "http://vault", "ssl_ca_crt_file": reference("a", "b")},
            "must begin with https://, because ssl_ca_crt_file is set",
        ),
        ({**VAULT, "kv_mountpoint": "../sys"}, "must be a path in Vault"),
        ({**VAULT, "kv_mountpoint": "a//b"}, "must be a path in Vault"),
        ({**VAULT, "kv_version": 3}, "kv_version"),
        ({**VAULT, "namespace": "a\nroot_token_id = x"}, "must be a path in Vault"),
        ({**VAULT, "root_token_id": "x"}, "root_token_id"),
    ],
)
def test_invalid_settings_of_vault_are_rejected(vault: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        BarbicanFeatures.model_validate({"backends": {"vault": vault}})


@pytest.mark.parametrize("field", ["pkcs11", "kmip"])
def test_hardware_modules_are_rejected_by_name(field: str) -> None:
    with pytest.raises(ValidationError, match=rf"backends\.{field}\n.*not supported"):
        BarbicanFeatures.model_validate({"backends": {field: {"library_path": "/x.so"}}})


async def test_the_keys_live_as_long_as_the_database() -> None:
    """Without them, all secrets are lost; the database outlives the service."""
    stage = Stage(barbican.SERVICE)
    first = await stage.do()
    assert rotations(first) == [], "there is no database yet"
    stage.cluster.put(MariaDB.KIND, {"metadata": {"namespace": NAMESPACE, "name": "mariadb"}, "spec": {}})
    await stage.do()
    made = stage.cluster.peek(SECRET, KEY)
    database = stage.cluster.peek(MariaDB.KIND, (NAMESPACE, "mariadb"))
    assert made and database
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("MariaDB", database["metadata"]["uid"])
    assert secret_data(made).keys() == {"0", "1"}
    assert rotations(await stage.plan()) == []

    stage.cluster.remove(barbican.SERVICE.kind, (NAMESPACE, "barbican"))
    stage.cluster.put(barbican.SERVICE.kind, {"metadata": {"namespace": NAMESPACE, "name": "barbican"}, "spec": {}})
    await stage.do()
    assert secret_data(stage.cluster.peek(SECRET, KEY)) == secret_data(made)


async def test_a_rotation_keeps_all_keys_and_the_next_one_was_there_before() -> None:
    stage = Stage(barbican.SERVICE)
    stage.cluster.put(MariaDB.KIND, {"metadata": {"namespace": NAMESPACE, "name": "mariadb"}, "spec": {}})
    await stage.do()
    before = stage.cluster.peek(SECRET, KEY)
    assert before
    del before["metadata"]["annotations"][ROTATED]  # as docs/howto/rotate-keys.md says
    stage.cluster.put(SECRET, before)
    await stage.do()
    old, new = secret_data(before), secret_data(stage.cluster.peek(SECRET, KEY))
    assert (new["1"], new["2"]) == (old["1"], old["0"])


def rotations(plan: Plan) -> list[RotateKeys]:
    return [each for each in plan.actions if isinstance(each, RotateKeys)]


KEYS = ["block-storage", "key-manager"]


@pytest.mark.parametrize("declared", [cinder.SERVICE, nova.SERVICE], ids=["cinder", "nova"])
def test_services_get_keys_in_the_names_of_their_users(declared: Service) -> None:
    chart = next(each for each in declared.charts if each.name == declared.name)
    conf = chart.values(context(declared=declared, services=KEYS))["conf"][declared.name]
    assert conf["key_manager"] == {"backend": "barbican"}
    assert conf["barbican"] == {
        "auth_endpoint": f"http://keystone-api.{NAMESPACE}.svc.cluster.local:5000/v3",
        "barbican_endpoint_type": "internal",
        "barbican_region_name": "Here",
        "send_service_user_token": True,
    }
    assert conf["barbican_service_user"] == {"auth_section": "service_user"}
    known = next(each for each in declared.contracts(context(declared=declared)) if each.kind.kind == "KeystoneService")
    assert "service_user" in known.spec["sections"]


def test_glance_reads_certificates_of_signed_images() -> None:
    conf = glance.SERVICE.charts[0].values(context(declared=glance.SERVICE, services=KEYS))["conf"]["glance"]
    assert conf["key_manager"] == {"backend": "barbican"}
    assert "send_service_user_token" not in conf["barbican"]


@pytest.mark.parametrize("declared", [cinder.SERVICE, nova.SERVICE, glance.SERVICE], ids=lambda each: each.name)
def test_services_of_a_cloud_without_it_know_nothing_of_it(declared: Service) -> None:
    found = str([each.values(context(declared=declared, services=["block-storage"])) for each in declared.charts])
    assert "barbican" not in found and "key_manager" not in found


async def test_the_authority_of_vault_is_awaited_by_name() -> None:
    """Pods that mount a missing key would wait without a cause."""
    stage, authority = Stage(barbican.SERVICE), {"namespace": NAMESPACE, "name": "authority"}
    spec = {"settings": with_vault(ssl_ca_crt_file=reference("authority", "ca.pem"))}
    stage.cluster.put(barbican.SERVICE.kind, {"metadata": {"namespace": NAMESPACE, "name": "barbican"}, "spec": spec})
    credentials = {"metadata": {"namespace": NAMESPACE, "name": "vault"}, "data": {"role": "eA==", "id": "eA=="}}
    stage.cluster.put(SECRET, credentials)
    stage.cluster.put(SECRET, {"metadata": authority, "data": {"other": "eA=="}})
    plan = await stage.plan()
    (settings,) = (each for each in plan.conditions if each.type == "Settings")
    assert settings.reason == "BlockedMissingSecret"
    assert f"Waiting for key ca.pem of Secret {NAMESPACE}/authority, named by value_from in spec.settings" in (
        settings.message
    )
    stage.cluster.put(SECRET, {"metadata": authority, "data": {"ca.pem": "eA=="}})
    await stage.do()
    (settings,) = (each for each in (await stage.plan()).conditions if each.type == "Settings")
    assert settings.status


async def test_credentials_for_vault_become_options_of_a_secret_of_its_own() -> None:
    spec = {"settings": with_vault()}
    stage = Stage(barbican.SERVICE)
    stage.cluster.put(barbican.SERVICE.kind, {"metadata": {"namespace": NAMESPACE, "name": "barbican"}, "spec": spec})
    blocked = next(each for each in (await stage.plan()).conditions if each.type == "Settings")
    assert blocked.reason == "BlockedMissingSecret"
    assert f"key id of Secret {NAMESPACE}/vault" in blocked.message and "spec.settings" in blocked.message
    stage.cluster.put(
        SECRET,
        {"metadata": {"namespace": NAMESPACE, "name": "vault"}, "data": {"role": "cm9sZS0x", "id": "aWQtMQ=="}},
    )
    await stage.do()
    copied = secret_data(stage.cluster.peek(SECRET, (NAMESPACE, "barbican-overrides")))["overrides.conf"]
    assert copied == "[vault_plugin]\napprole_role_id = role-1\napprole_secret_id = id-1\n"
    seen = await stage.look()
    built = bundle(seen, seen.context)["spec"]["releases"][0]["values"]
    assert built["secrets"]["conf"]["barbican"]["name"] == "barbican-overrides"
    assert "role-1" not in str(built) and "id-1" not in str(built)
