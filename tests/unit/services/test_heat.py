"""Values, Secrets and contracts of Heat, derived from a cloud."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stackwright.api.kinds import SECRET
from stackwright.api.services.contracts import KeystoneServiceSpec
from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.controllers.service.decide import decide
from stackwright.core.objects import secret_data
from stackwright.core.secrets.filling import fill
from stackwright.core.secrets.writes import EnsureSecret
from stackwright.services import heat
from stackwright.services.context import Context, Values
from stackwright.services.declaration import Contract
from stackwright.services.heat import values as heat_values
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.registry import PRESETS
from stackwright.services.values import merged_values
from tests.unit.controllers.builders import NAMESPACE
from tests.unit.controllers.service.stage import Stage

SIZES: tuple[Size, ...] = ("single", "tiny", "small", "medium")
KEY = (NAMESPACE, heat_values.KEY_SECRET)


def context(size: Size = "single", **settings: object) -> Context:
    spec = ServiceSpec(size=size, public_domain="cloud.example", storage_class="local", region="Here")
    return Context("heat", NAMESPACE, spec, {"heat": "r/heat:1"}, heat.SERVICE.settings.model_validate(settings))


def values(size: Size = "single", **settings: object) -> Values:
    return heat.SERVICE.charts[0].values(context(size, **settings))


def contracts(**settings: object) -> dict[str, Contract]:
    return {found.name or "heat": found for found in heat.SERVICE.contracts(context(**settings)) if found.spec}


def identities(**settings: object) -> dict[str, dict[str, Any]]:
    found = [each for each in heat.SERVICE.contracts(context(**settings)) if each.kind.kind == "KeystoneService"]
    return {each.name or "heat": dict(each.spec) for each in found}


def test_no_preset_contains_it() -> None:
    assert not any("orchestration" in services for services in PRESETS.values())


def test_the_catalog_has_two_services_with_a_user_each() -> None:
    found = {name: KeystoneServiceSpec.model_validate(spec) for name, spec in identities(ingress=True).items()}
    heat_, cfn = found["heat"], found["heat-cfn"]
    assert (heat_.service_name, heat_.service_type) == ("heat", "orchestration")
    assert (cfn.service_name, cfn.service_type) == ("heat-cfn", "cloudformation")
    assert heat_.endpoints.internal == f"http://heat-api.{NAMESPACE}.svc.cluster.local:8004/v1/%(project_id)s"
    assert heat_.endpoints.public == "https://heat.cloud.example/v1/%(project_id)s"
    assert cfn.endpoints.internal == f"http://heat-cfn.{NAMESPACE}.svc.cluster.local:8000/v1"
    assert cfn.endpoints.public == "https://heat-cfn.cloud.example/v1"
    assert (heat_.username, heat_.secret_name) == ("heat", "heat-keystone")
    assert (cfn.username, cfn.secret_name) == ("heat-cfn", "heat-cfn-keystone")
    assert heat_.roles == ["admin", "service"]
    assert cfn.roles == ["service"], "it only validates tokens and signatures"
    assert {heat_.region, cfn.region} == {"Here"}


def test_users_of_stacks_are_in_a_domain_of_their_own() -> None:
    spec = KeystoneServiceSpec.model_validate(identities()["heat"])
    assert spec.trustee and (spec.trustee.domain, spec.trustee.username) == ("heat", "heat_domain_admin")
    assert spec.additional_roles == ["heat_stack_owner", "heat_stack_user"]
    assert "trustee" not in identities()["heat-cfn"]


@pytest.mark.parametrize("ingress", [True, False])
def test_virtual_machines_get_public_addresses(*, ingress: bool) -> None:
    conf = values(ingress=ingress)["conf"]["heat"]["DEFAULT"]
    public = "https://heat-cfn.cloud.example/v1" if ingress else identities()["heat-cfn"]["endpoints"]["public"]
    assert conf["heat_metadata_server_url"] == public
    assert conf["heat_waitcondition_server_url"] == f"{public}/waitcondition"
    assert conf["server_keystone_endpoint_type"] == "public"


@pytest.mark.parametrize("size", SIZES)
def test_larger_clouds_have_more_pods_and_processes(size: Size) -> None:
    built, limits = values(size), heat_values.SIZES[size]
    assert built["pod"]["replicas"] == {"api": limits.api, "cfn": limits.cfn, "engine": limits.engine}
    assert built["conf"]["heat"]["DEFAULT"]["num_engine_workers"] == limits.engine_workers
    for name in ("heat_api_uwsgi", "heat_cfn_uwsgi"):
        assert built["conf"][name]["uwsgi"]["processes"] == limits.api_workers >= 2
    smaller = SIZES[max(0, SIZES.index(size) - 1)]
    assert heat_values.SIZES[smaller].engine <= limits.engine


def test_the_purge_counts_stacks_and_can_be_disabled() -> None:
    assert values()["cron"]["db_purge"]["batch"] == 20, "Heat's own default"
    assert values(cleanup={"batch": 1})["cron"]["db_purge"]["batch"] == 1
    assert values(cleanup={"enabled": False})["cron"]["db_purge"]["schedule"] == ""
    assert values(cleanup={"age": 7})["cron"]["db_purge"]["age"] == 7


def test_an_own_bus_is_used() -> None:
    found = heat.SERVICE.contracts(context(messaging_instance="heat-rabbitmq"))
    (bus,) = [
        each for each in found if each.kind.kind == "MessagingAccount" and not each.name.endswith("notifications")
    ]
    assert (bus.provider, bus.spec["username"]) == ("heat-rabbitmq", "heat")


def test_the_key_has_the_length_that_heat_requires() -> None:
    (secret,) = heat.SERVICE.secrets(context())
    text = fill(secret.templates["encryption.conf"], {"key": "k" * 32})
    assert re.fullmatch(r"\[DEFAULT\]\nauth_encryption_key = k{32}\n", text)


async def test_the_key_lives_as_long_as_the_database() -> None:
    """Without it, credentials of existing stacks are lost; the database outlives the service."""
    stage = Stage(heat.SERVICE)
    first = await stage.do()
    assert not [each for each in first.actions if isinstance(each, EnsureSecret)], "there is no database yet"
    stage.cluster.put(MariaDB.KIND, {"metadata": {"namespace": NAMESPACE, "name": "mariadb"}, "spec": {}})
    await stage.do()
    made = stage.cluster.peek(SECRET, KEY)
    database = stage.cluster.peek(MariaDB.KIND, (NAMESPACE, "mariadb"))
    assert made and database
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("MariaDB", database["metadata"]["uid"])
    assert len(secret_data(made)["key"]) == 32
    plan = decide(await stage.look())  # type: ignore[arg-type]
    assert not [each for each in plan.actions if isinstance(each, EnsureSecret)]

    stage.cluster.remove(heat.SERVICE.kind, (NAMESPACE, "heat"))
    stage.cluster.put(heat.SERVICE.kind, {"metadata": {"namespace": NAMESPACE, "name": "heat"}, "spec": {}})
    await stage.do()
    again = stage.cluster.peek(SECRET, KEY)
    assert again and secret_data(again)["key"] == secret_data(made)["key"]


def test_its_pods_are_confined_if_the_cloud_has_network_policies() -> None:
    for enabled in (True, False):
        made = merged_values(heat.SERVICE, context(network_policies=enabled), heat.SERVICE.charts[0])["network"]
        assert set(made.get("egress", ())) == ({"api", "cfn", "engine"} if enabled else set())
        assert set(made.get("policies", ())) == set(made.get("egress", ()))
