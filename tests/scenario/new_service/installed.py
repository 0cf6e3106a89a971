"""The made-up service in a copy of the project, with its folders and its line in the registry."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.adapters.helm.command import chart_schemas
from stackwright.api.crd import crd
from stackwright.api.kinds import SECRET
from stackwright.cloud.deployment import OpenStackDeployment, OpenStackDeploymentSpec
from stackwright.cloud.registry import BY_KIND, RESOURCES
from stackwright.cloud.support import TESTED, accepted
from stackwright.core.helm.chart_schema import value_errors
from stackwright.core.objects import secret_data
from stackwright.local.image import recipes
from stackwright.services.connections import CONNECTIONS
from stackwright.services.declaration import INGRESS
from stackwright.services.registry import BY_SERVICE, PRESETS, PUBLIC
from tests.scenario.world import SETTINGS, World

ALMANAC: Any = BY_SERVICE["calendar"]


@pytest.mark.looptime
async def test_it_is_installed_with_its_features_and_becomes_ready() -> None:
    world = World()
    features = {
        "services": ["calendar"],
        "almanac": {"weeks": 4},
        "logging": {"almanac": {"level": "DEBUG"}},
        "database": {"cleanup": {"almanac": {"age": 7}}},
        "messaging": {"components_with_dedicated_messaging": ["calendar"]},
    }
    world.cloud(features=features)
    await world.settle()
    assert world.condition() == ("True", "Ready", "")
    assert world.condition("Almanac") == ("True", "Ready", "")
    assert world.osdpl is not None
    assert world.osdpl["status"]["services"]["calendar"]["state"] == "APPLIED"
    obj = world.get(ALMANAC.kind, "almanac")
    assert obj is not None
    assert obj["spec"]["logLevel"] == "DEBUG"
    settings = ALMANAC.settings.model_validate(obj["spec"]["settings"])
    assert (settings.weeks, settings.cleanup.age) == (4, 7)
    assert (settings.network_policies, settings.messaging_instance) == (True, "almanac-rabbitmq")
    (release,) = world.bundle("almanac")["spec"]["releases"]
    values = release["values"]
    assert values["images"]["tags"]["almanac_api"] == SETTINGS.images["almanac"]
    assert values["conf"]["almanac"]["calendar"] == {"weeks": 4, "style": "plain", "keep_days": 7}
    assert values["network"]["policies"].keys() == {"api"}
    assert list(value_errors(chart_schemas()["almanac"], values, "values", whole=True)) == []
    assert ("mariadb.openstack.svc", "almanac") in world.sql.users
    made = {
        name: secret_data(world.get(SECRET, f"almanac-{name}") or {}).keys() for name in ("sessions", "keys", "etcd")
    }
    assert made == {"sessions": {"session_key"}, "keys": {"0", "1"}, "etcd": {"ca.crt", "tls.crt", "tls.key"}}


def test_its_kind_and_the_fields_of_a_cloud_are_in_the_crds() -> None:
    assert ALMANAC.resource in RESOURCES
    assert crd(ALMANAC.resource)["metadata"]["name"] == "almanacs.stackwright.dev"
    assert BY_KIND["Almanac"] is ALMANAC.resource
    schema = crd(OpenStackDeployment)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    features = schema["properties"]["spec"]["properties"]["features"]["properties"]
    assert {"calendar", "~calendar"} <= set(features["services"]["items"]["enum"])
    assert features["almanac"]["properties"]["weeks"]["default"] == 52
    assert "almanac" in features["logging"]["properties"]
    assert "almanac" in features["database"]["properties"]["cleanup"]["properties"]


def test_a_cloud_may_name_and_override_it_and_its_presets_have_it() -> None:
    said = {"openstack_version": "epoxy", "preset": "compute", "size": "tiny"}
    values = {"calendar": {"almanac": {"values": {"pod": {"replicas": {"api": 2}}}}}}
    spec = OpenStackDeploymentSpec.model_validate({**said, "services": values, "features": {"services": ["~calendar"]}})
    assert spec.features.removed == {"calendar"}
    assert "calendar" in PRESETS["compute"]
    assert "calendar" not in PRESETS["core"]


def test_others_know_its_connections_its_public_name_its_image_and_its_tests() -> None:
    called = {each.application for each in CONNECTIONS if "almanac" in each.sources}
    assert called == {"mariadb", "rabbitmq", "memcached", "keystone", "etcd"}
    (own,) = (each for each in CONNECTIONS if each.application == "almanac")
    assert own.sources == ("horizon", "keystoneclient", INGRESS)
    assert PUBLIC["calendar"].host == "almanac"
    assert recipes.load().recipe("almanac").base == "base-python"
    assert {(path, value) for path in TESTED for value in TESTED[path]} == set(accepted())
