"""Upstream manifests that disable a feature, or set its default, are accepted; other values are rejected by name."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.fields import ini
from stackwright.api.infra.cluster.changes import CHANGES
from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.controllers.capicluster.objects import api_port
from stackwright.controllers.cloud.converge import converge
from stackwright.controllers.cloud.objects import service_object
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.cloud.selection import wanted_services
from stackwright.controllers.cloud.validate import parse as parse_deployment
from stackwright.controllers.controlplane.levels import levels
from stackwright.controllers.controlplane.objects import deployment
from stackwright.controllers.controlplane.validate import parse as parse_control_plane
from stackwright.core.settings import Settings

NOT = "is not supported by this version of Stackwright"
SERVICES = ("galera", "memcached", "rabbitmq", "keystone", "glance", "placement", "neutron", "nova")
META = {"name": "cloud", "namespace": "openstack", "uid": "u"}
CLOUD = {"apiVersion": "lcm.mirantis.com/v1alpha1", "kind": "OpenStackDeployment", "metadata": META}


def control_plane(**sections: Any) -> dict[str, Any]:
    every: dict[str, Any] = {name: {} for name in SERVICES}
    return {"metadata": META, "spec": {"secret": "osp-secret", "storageClass": "", **every, **sections}}


def cloud(features: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    spec = {"openstack_version": "epoxy", "preset": "core", "size": "single", **fields, "features": features or {}}
    return {**CLOUD, "spec": spec}


def cluster(**fields: Any) -> dict[str, Any]:
    return {"metadata": META, "spec": {"identityRef": {"name": "n", "cloudName": "c"}, **fields}}


def nested(path: str, value: Any) -> dict[str, Any]:
    for part in reversed(path.split(".")):
        value = {part: value}
    return value


# --- OpenStackDeployment

OFF = [
    "ssl.tls_proxy",
    "glance.signature",
    "database.backup",
    "database.cleanup.manila",
    "nova.console.spice",
    "nova.images.encryption",
    "keystone.federation.openid",
    "keystone.keycloak",
    "keystone.domain_specific_configuration",
    "neutron.dvr",
    "neutron.extensions.vpnaas",
    "neutron.extensions.dynamic_routing",
    "neutron.extensions.portprober",
    "neutron.bgpvpn",
    "neutron.ipsec",
    "messaging.notifications.external",
    "stacklight",
]


@pytest.mark.parametrize("path", OFF)
def test_a_feature_that_is_off_may_be_spelled_out(path):
    assert parse_deployment(cloud(nested(path, {"enabled": False, "anything": {"else": 1}})))[1] == []
    (told,) = parse_deployment(cloud(nested(path, {"enabled": True})))[1]
    assert told == f"spec.features.{path}.enabled: {NOT}; only enabled: false is accepted"


@pytest.mark.parametrize("path", ["neutron.dvr", "ssl.tls_proxy", "database.cleanup.manila"])
def test_a_section_that_is_on_by_default_must_be_disabled(path):
    (told,) = parse_deployment(cloud(nested(path, {})))[1]
    assert told == f"spec.features.{path}: {NOT}; remove it, or write enabled: false"


def test_tls_of_consoles_may_be_requested_because_it_is_always_on():
    assert parse_deployment(cloud(nested("nova.console.novnc.tls.enabled", True)))[1] == []
    assert parse_deployment(cloud(nested("nova.console.novnc.tls.enabled", False)))[1]


def test_urls_of_artifacts_are_accepted_and_reported_as_unused():
    urls = {"images_base_url": "mirantis.azurecr.io", "binary_base_url": "https://binary.mirantis.com"}
    for artifacts, unused in ((urls, "images_base_url, spec.artifacts.binary_base_url are"), ({}, "")):
        obj = cloud(artifacts=artifacts)
        spec, errors = parse_deployment(obj)
        assert errors == []
        plan = converge(Observed(Settings(), obj), spec)
        found = {condition.type: condition for condition in plan.conditions}
        assert ("UnusedFields" in found) is bool(artifacts)
        if artifacts:
            assert found["UnusedFields"].status is True
            assert f"spec.artifacts.{unused} accepted but not used" in found["UnusedFields"].message
            assert found["Ready"].reason != found["UnusedFields"].reason
        only = {"images_base_url": "registry.example"}
    spec, _ = parse_deployment(cloud(artifacts=only))
    (condition,) = [each for each in converge(Observed(Settings(), cloud()), spec).conditions if "Unused" in each.type]
    assert condition.message.startswith("spec.artifacts.images_base_url is accepted but not used")


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({}, "shared"),
        ({"storage_class_name": ""}, "shared"),
        ({"storage_class_name": "mine"}, "mine"),
    ],
)
def test_volumes_that_are_not_local_have_the_persistent_storage_class(volume, expected):
    features = {"glance": {"backends": {"file": {"store": {"pvc": {"size": "10Gi", **volume}}}}}}
    classes = {"local_volume_storage_class": "local", "persistent_volume_storage_class": "shared"}
    body = image_service(cloud(features, **classes))
    assert body["storageClass"] == "local"
    assert body["settings"]["backends"]["file"]["store"]["pvc"]["storage_class_name"] == expected
    # Without a name the object is unchanged.
    assert image_service(cloud(features))["settings"]["backends"]["file"]["store"]["pvc"] == {"size": "10Gi", **volume}


def image_service(obj: dict[str, Any]) -> dict[str, Any]:
    spec, errors = parse_deployment(obj)
    assert errors == []
    wanted = next(each for each in wanted_services(spec) if each.declared.service == "image")
    body: dict[str, Any] = service_object(obj, spec, wanted)["spec"]
    return body


# --- OpenStackControlPlane

NOTHING = [
    ("preserveJobs", False),
    ("containerImage", ""),
    ("databaseAccount", ""),
    ("serviceUser", ""),
    ("networkAttachments", []),
    ("customServiceConfigSecrets", []),
    ("extraMounts", []),
]


@pytest.mark.parametrize(("field", "value"), NOTHING)
def test_an_empty_value_is_accepted(field, value):
    assert parse_control_plane(control_plane(keystone={"template": {field: value}}))[1] == []


@pytest.mark.parametrize(("field", "value"), [("containerImage", "x"), ("extraMounts", [{}]), ("apiTimeout", 0)])
def test_any_other_value_is_refused_as_before(field, value):
    (told,) = parse_control_plane(control_plane(keystone={"template": {field: value}}))[1]
    assert told == f"spec.keystone.template.{field}: {NOT}; remove it"


@pytest.mark.parametrize(
    "sections",
    [
        {"tls": {"caBundleSecretName": ""}},
        {"tls": {"ingress": {"enabled": False, "ca": {"duration": "1h"}}, "podLevel": {"enabled": False}}},
        {"keystone": {"template": {"tls": {"caBundleSecretName": ""}}}},
        {"keystone": {"template": {"tls": {"api": {"internal": {}, "public": {}}, "caBundleSecretName": ""}}}},
        {"openstackclient": {}},
        {"openstackclient": {"template": {}}},
        {"keystone": {"template": {"resources": {}, "override": {}, "nodeSelector": {}}}},
        {"keystone": {"applicationCredential": {"enabled": False, "expirationDays": 730}}},
        {"keystone": {"template": {"externalKeystoneAPI": False}}},
        {"neutron": {"template": {"corePlugin": "ml2"}}},
        {"glance": {"uniquePodNames": False, "serviceName": ""}},
        {"galera": {"templates": {"openstack": {"logToDisk": False, "disableNonTLSListeners": False}}}},
    ],
)
def test_upstreams_empty_values_are_accepted(sections):
    assert parse_control_plane(control_plane(**sections))[1] == []


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"tls": {"caBundleSecretName": "more"}}, "spec.tls.caBundleSecretName"),
        (
            {"keystone": {"template": {"tls": {"caBundleSecretName": "more"}}}},
            "spec.keystone.template.tls.caBundleSecretName",
        ),
        (
            {"keystone": {"template": {"tls": {"api": {"public": {"secretName": "mine"}}}}}},
            "spec.keystone.template.tls.api.public.secretName",
        ),
        ({"galera": {"templates": {"openstack": {"tls": {"api": {}}}}}}, "spec.galera.templates.openstack.tls.api"),
        ({"openstackclient": {"template": {"containerImage": "x"}}}, "spec.openstackclient.template.containerImage"),
        (
            {"keystone": {"template": {"resources": {"requests": {"cpu": "1"}}}}},
            "spec.keystone.template.resources.requests",
        ),
        ({"keystone": {"template": {"override": {"service": {}}}}}, "spec.keystone.template.override.service"),
        ({"keystone": {"template": {"nodeSelector": {"a": "b"}}}}, "spec.keystone.template.nodeSelector"),
    ],
)
def test_an_effective_value_of_an_unsupported_field_is_named(sections, told):
    (error,) = parse_control_plane(control_plane(**sections))[1]
    assert error.startswith(f"{told}: {NOT}")


def test_a_repeated_option_has_all_its_values_in_their_order():
    text = "[service_providers]\nservice_provider = B:b:x\nservice_provider = A:a:y:default\n[other]\nx = 1\n"
    text += "[service_providers]\nservice_provider = C:c:z\nfurther = 2\n"
    assert ini.sections(text) == {
        "service_providers": {"service_provider": ["B:b:x", "A:a:y:default", "C:c:z"], "further": "2"},
        "other": {"x": "1"},
    }
    spec, errors = parse_control_plane(control_plane(neutron={"template": {"customServiceConfig": text}}))
    assert errors == []
    wanted = next(each for each in wanted_services(deployment(spec)) if each.declared.service == "networking")
    removed, set_ = [values for level, values in levels(spec, wanted) if str(level).endswith("customServiceConfig")]
    assert removed["neutron"]["conf"]["neutron"]["service_providers"]["service_provider"] is None
    assert set_["neutron"]["conf"]["neutron"]["service_providers"] == {
        "service_provider": {"type": "multistring", "values": ["B:b:x", "A:a:y:default", "C:c:z"]},
        "further": "2",
    }


# --- OpenStackCluster


@pytest.mark.parametrize("field", ["apiServerLoadBalancer", "apiServer.managedLoadBalancer"])
def test_a_disabled_load_balancer_is_accepted(field):
    off = {"enabled": False, "additionalPorts": [22], "provider": "amphora"}
    assert OpenStackCluster.parsed(cluster(**nested(field, off)))[1] == []
    (told,) = OpenStackCluster.parsed(cluster(**nested(field, {})))[1]
    assert told == f"spec.{field}: {NOT}; remove it, or write enabled: false"


@pytest.mark.parametrize("field", ["apiServerPort", "apiServer.port"])
def test_port_zero_of_the_api_is_the_default(field):
    raw = nested(field, 0)
    spec, errors = OpenStackCluster.parsed(cluster(**raw))
    assert errors == []
    assert api_port(spec) == 6443
    port = next(change for change in CHANGES if change.field == "apiServer.port")
    assert not port.refused({}, raw), "0 is what was there before"
    assert not port.refused(raw, {})
    assert port.refused(raw, nested(field, 443)), "once there is a floating IP, it stays"
