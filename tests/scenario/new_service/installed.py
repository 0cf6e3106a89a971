"""The made-up service in a copy of the project, with its folders and its line in the registry, under any names."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.adapters.helm.command import chart_schemas
from stackwright.api.crd import crd
from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.cli.manifests.load import check
from stackwright.cloud.deployment import OpenStackDeployment, OpenStackDeploymentSpec
from stackwright.cloud.registry import BY_KIND, RESOURCES
from stackwright.cloud.support import TESTED, accepted
from stackwright.core.helm.chart_schema import value_errors
from stackwright.core.objects import secret_data
from stackwright.local.image import recipes
from stackwright.services.connections import CONNECTIONS
from stackwright.services.declaration import INGRESS
from stackwright.services.registry import PRESETS, PUBLIC, SERVICES
from tests.scenario.world import SETTINGS, World

ADDED: Any = SERVICES[-1]
NAME, SERVICE, KIND = ADDED.name, ADDED.service, ADDED.kind.kind
CLOUD = {"openstack_version": "epoxy", "preset": "compute", "size": "tiny"}


@pytest.mark.looptime
async def test_it_is_installed_with_its_features_and_becomes_ready() -> None:
    world = World()
    features = {
        "services": [SERVICE],
        NAME: {"weeks": 4},
        "logging": {NAME: {"level": "DEBUG"}},
        "database": {"cleanup": {NAME: {"age": 7}}},
        "messaging": {"components_with_dedicated_messaging": [SERVICE]},
    }
    world.cloud(features=features)
    await world.settle()
    assert world.condition() == ("True", "Ready", "")
    assert world.condition(KIND) == ("True", "Ready", "")
    assert world.osdpl is not None
    assert world.osdpl["status"]["services"][SERVICE]["state"] == "APPLIED"
    obj = world.get(ADDED.kind, NAME)
    assert obj is not None
    assert obj["spec"]["logLevel"] == "DEBUG"
    settings = ADDED.settings.model_validate(obj["spec"]["settings"])
    assert (settings.weeks, settings.cleanup.age) == (4, 7)
    assert (settings.network_policies, settings.messaging_instance) == (True, f"{NAME}-rabbitmq")
    (release,) = world.bundle(NAME)["spec"]["releases"]
    values = release["values"]
    assert values["images"]["tags"][f"{NAME}_api"] == SETTINGS.images[NAME]
    assert values["conf"][NAME][SERVICE] == {"weeks": 4, "style": "plain", "keep_days": 7}
    assert values["network"]["policies"].keys() == {"api"}
    assert list(value_errors(chart_schemas()[NAME], values, "values", whole=True)) == []
    assert ("mariadb.openstack.svc", NAME) in world.accounts.database.users
    made = {
        name: secret_data(world.get(SECRET, f"{NAME}-{name}") or {}).keys() for name in ("sessions", "keys", "etcd")
    }
    assert made == {"sessions": {"session_key"}, "keys": {"0", "1"}, "etcd": {"ca.crt", "tls.crt", "tls.key"}}


def test_its_kind_and_the_fields_of_a_cloud_are_in_the_crds() -> None:
    assert ADDED.resource in RESOURCES
    assert crd(ADDED.resource)["metadata"]["name"] == f"{NAME}s.stackwright.dev"
    assert BY_KIND[KIND] is ADDED.resource
    schema = crd(OpenStackDeployment)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    features = schema["properties"]["spec"]["properties"]["features"]["properties"]
    assert {SERVICE, f"~{SERVICE}"} <= set(features["services"]["items"]["enum"])
    assert features[NAME]["properties"]["weeks"]["default"] == 52
    assert NAME in features["logging"]["properties"]
    assert NAME in features["database"]["properties"]["cleanup"]["properties"]


def test_a_cloud_may_name_and_override_it_and_its_presets_have_it() -> None:
    values = {SERVICE: {NAME: {"values": {"pod": {"replicas": {"api": 2}}}}}}
    spec = OpenStackDeploymentSpec.model_validate(
        {**CLOUD, "services": values, "features": {"services": [f"~{SERVICE}"]}}
    )
    assert spec.features.removed == {SERVICE}
    assert SERVICE in PRESETS["compute"]
    assert SERVICE not in PRESETS["core"]


def test_others_know_its_connections_its_public_name_its_image_and_its_tests() -> None:
    called = {each.application for each in CONNECTIONS if NAME in each.sources}
    assert called == {"mariadb", "rabbitmq", "memcached", "keystone", "etcd"}
    (own,) = (each for each in CONNECTIONS if each.application == NAME)
    assert own.sources == ("horizon", "keystoneclient", INGRESS)
    assert PUBLIC[SERVICE].host == NAME
    assert recipes.load().recipe(NAME).base == "base-python"
    assert {(path, value) for path in TESTED for value in TESTED[path]} == set(accepted())


def told(kind: Kind, spec: dict[str, Any]) -> list[str]:
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "a"}, "spec": spec}
    return check(manifest, "openstack")[1]


def test_its_names_are_known_also_if_the_reference_has_them() -> None:
    assert told(ADDED.kind, {"zzz": 1})[0].startswith("spec.zzz: unknown field; ")
    services = {"features": {"services": [NAME, f"~{NAME}"]}}
    added, removed, *others = told(OpenStackDeployment.KIND, {**CLOUD, **services})
    assert added.startswith(f"spec.features.services[0]: '{NAME}' is not allowed; did you mean {SERVICE}? allowed: ")
    assert removed.startswith(f"spec.features.services[1]: '~{NAME}' is not allowed; did you mean ~{SERVICE}? allowed")
    assert others == []
    bus = {"features": {"messaging": {"components_with_dedicated_messaging": [NAME]}}}
    (error,) = told(OpenStackDeployment.KIND, {**CLOUD, **bus})
    assert f"[0]: '{NAME}' is not allowed; did you mean {SERVICE}? allowed: " in error
    (error,) = told(OpenStackDeployment.KIND, {**CLOUD, "services": {NAME: {}}})
    assert error.startswith(f"spec.services: unknown service {NAME}; did you mean {SERVICE}? allowed: ")
    (error,) = told(OpenStackDeployment.KIND, {**CLOUD, "nodes": {"a::b": {"services": {NAME: {}}}}})
    assert error.startswith(f"spec.nodes.a::b.services.{NAME}: unknown service; did you mean {SERVICE}? allowed: ")
