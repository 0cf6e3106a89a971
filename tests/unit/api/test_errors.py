"""Errors as users read them: where, what, what instead; and all of them."""

from typing import Literal

import pytest
from pydantic import ValidationError

from stackwright.api.errors import messages, repeatable
from stackwright.api.meta import Model
from stackwright.api.services.helmbundle import HelmBundleSpec
from stackwright.cloud.controlplane import OpenStackControlPlaneSpec
from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.cloud.registry import RESOURCES

GOOD = {"openstack_version": "epoxy", "preset": "core", "size": "single"}


def errors(spec, model=OpenStackDeploymentSpec):
    with pytest.raises(ValidationError) as caught:
        model.model_validate(spec)
    return messages(caught.value, model)


def test_all_errors_are_reported_together():
    found = errors({"preset": "huge", "features": {"telemetry": {}, "typo": 1}, "draft": "maybe"})
    assert [line.split(":")[0] for line in sorted(found)] == [
        "spec.draft", "spec.features.telemetry", "spec.features.typo",
        "spec.openstack_version", "spec.preset", "spec.size",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"size": "big"}, "spec.size: 'big' is not allowed; allowed: 'single', 'tiny', 'small' or 'medium'"),
        ({"size": None}, "spec.size: is required"),
        ({"region_name": ""}, "spec.region_name: must not be empty"),
        (
            {"public_domain_name": "Cloud!"},
            "spec.public_domain_name: must be a DNS name of lower-case letters, digits, '-' and '.', at most 63 "
            "characters between dots, at most 189 characters, not 'Cloud!'",
        ),
        *(
            ({field: name}, f"spec.{field}: must be a DNS name of lower-case letters, digits, '-' and '.', at most 63 ")
            for field in ("public_domain_name", "internal_domain_name")
            for name in (f"{'a' * 64}.example", ".".join(["a" * 38] * 5), "a..b", "a.")
        ),
        ({"draft": 7}, "spec.draft: takes true or false, not 7"),
        (
            {"features": {"ssl": {"tls_proxy": {}}}},
            "spec.features.ssl.tls_proxy: is not supported by this version of Stackwright; remove it",
        ),
        (
            {"services": {"nova": {}}},
            "spec.services: unknown service nova; did you mean compute? allowed: block-storage, ceph, compute, "
            "coordination, dashboard, database, dns, identity, image, ingress, key-manager, memcached, messaging, "
            "networking, object-storage, orchestration, placement",
        ),
        (
            {"features": {"services": ["identity", "nova"]}},
            "spec.features.services[1]: 'nova' is not allowed; did you mean compute? allowed: ",
        ),
        (
            {"features": {"services": ["cinder"]}},
            "spec.features.services[0]: 'cinder' is not allowed; did you mean block-storage? allowed: ",
        ),
        (
            {"features": {"services": ["~Nova"]}},
            "spec.features.services[0]: '~Nova' is not allowed; did you mean ~compute? allowed: ",
        ),
        (
            {"features": {"services": ["stepler"]}},
            "spec.features.services[0]: 'stepler' is not supported by this version of Stackwright; allowed: ",
        ),
        (
            {"services": {"stepler": {}}},
            "spec.services: stepler is not supported by this version of Stackwright; remove it",
        ),
        (
            {"features": {"services": ["netwroking"]}},
            "spec.features.services[0]: 'netwroking' is not allowed; did you mean networking? allowed: 'block-storage'",
        ),
        (
            {"features": {"services": ["~Compute"]}},
            "spec.features.services[0]: '~Compute' is not allowed; did you mean ~compute? allowed: 'block-storage'",
        ),
        ({"preset": "Core"}, "spec.preset: 'Core' is not allowed; did you mean core? allowed: "),
        (
            {"services": {"identiti": {}, "imag": {}}},
            "spec.services: unknown service identiti, imag; did you mean identity or image? allowed: block-storage",
        ),
        ({"features": []}, "spec.features: "),
        ({"features": {"logging": {"cadf": {}}}}, "spec.features.logging.cadf.enabled: is required"),
    ],
)
def test_an_error_names_place_cause_and_allowed_values(change, expected):
    (found,) = errors({**GOOD, **change})
    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("change", "where", "allowed"),
    [
        ({"typo": 1}, "spec.typo", "openstack_version, persistent_volume_storage_class, preset"),
        ({"Preset": "core"}, "spec.Preset", "openstack_version, persistent_volume_storage_class, preset"),
        ({"features": {"Keystone": {}}}, "spec.features.Keystone", "keystone, logging"),
        (
            {"features": {"logging": {"str": {}}}},
            "spec.features.logging.str",
            "cadf, cinder, designate, glance, heat, horizon, keystone",
        ),
        (
            {"features": {"logging": {"cadf": {"enabled": True, "x": 1}}}},
            "spec.features.logging.cadf.x",
            "driver, enabled",
        ),
        ({"nodes": {"Rack": {"typo": 1}}}, "spec.nodes.Rack.typo", "features, services"),
        ({"nodes": {"a::b": {"typo": 1}}}, "spec.nodes.a::b.typo", "features, services"),
        ({"common": {"infra": {"typo": 1}}}, "spec.common.infra.typo", "releases, repositories, values"),
    ],
)
def test_an_unknown_field_is_reported_with_its_path_and_the_allowed_names(change, where, allowed):
    (found,) = errors({**GOOD, **change})
    assert found.startswith(f"{where}: unknown field; ")
    assert allowed in found.partition("allowed: ")[2]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"featurs": {}}, "spec.featurs: unknown field; did you mean features? allowed: "),
        ({"features": {"Keystone": {}}}, "spec.features.Keystone: unknown field; did you mean keystone? allowed: "),
        ({"x": 1}, "spec.x: unknown field; allowed: "),
        ({"REGIONNAME": "a"}, "spec.REGIONNAME: unknown field; did you mean region_name? allowed: "),
        ({"x" * 300: 1}, f"spec.{'x' * 79}…: unknown field; allowed: "),
        ({"services": {"identiti": {}}}, "spec.services: unknown service identiti; did you mean identity? allowed: "),
    ],
)
def test_a_misspelt_field_is_told_with_the_one_that_is_meant(change, told):
    (found,) = errors({**GOOD, **change})
    assert found.startswith(told)


def test_releases_of_one_name_are_rejected_as_by_the_api_server():
    found = errors({"releases": [{"name": "a", "chart": "b"}, {"name": "a", "chart": "c"}]}, HelmBundleSpec)
    assert [each.partition(", not")[0] for each in found] == ["spec.releases: duplicate entry: a"]


def test_an_error_of_a_truth_value_is_in_the_words_of_yaml():
    (found,) = errors({**GOOD, "features": {"nova": {"console": {"novnc": {"tls": {"enabled": False}}}}}})
    assert found.endswith("false is not allowed; allowed: true")
    for value in ("false", "true"):
        found = errors({"applicationCredential": {"enabled": value}}, OpenStackControlPlaneSpec)
        assert any(each.endswith("spec.applicationCredential.enabled: takes true or false") for each in found)


def test_an_unknown_field_in_a_list_is_reported_with_its_index():
    found = errors({"releases": [{"name": "a", "chart": "b"}, {"name": "c", "chart": "d", "typo": 1}]}, HelmBundleSpec)
    allowed = "chart, chartDigest, name, namespace, startTimeout, timeout, values, version"
    assert found == [f"spec.releases[1].typo: unknown field; allowed: {allowed}"]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.KIND.kind)
def test_no_model_has_a_union_because_paths_of_errors_would_contain_its_branches(resource):
    def unions(node):
        if isinstance(node, list):
            return [found for each in node for found in unions(each)]
        if not isinstance(node, dict):
            return []
        real = [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
        return [real] * (len(real) > 1) + [found for child in node.values() for found in unions(child)]

    assert unions(resource.model_json_schema()) == []


PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"


class _Names(Model):
    """Fields of every sort that could hold a secret, none of them a text."""

    password: int = 0
    api_key: int = 0
    secret_value: Literal["a"] = "a"
    conf: int = 0
    ca_cert: int = 0
    name: int = 0


@pytest.mark.parametrize("field", ["password", "api_key", "secret_value", "conf", "ca_cert"])
def test_the_value_of_a_field_with_a_possible_secret_is_not_repeated(field):
    (found,) = errors({field: "pw-x"}, _Names)
    assert found.startswith(f"spec.{field}: ")
    assert "pw-x" not in found


@pytest.mark.parametrize("value", [PEM, "x" * 500, "a\nb", "\x1b[2J", "9" * 6000])
def test_a_value_that_is_long_or_has_several_lines_is_not_repeated(value):
    (found,) = errors({"name": value}, _Names)
    assert value not in found
    assert len(found) < 200
    assert found.isprintable()


@pytest.mark.parametrize("value", [PEM, "a\nb", "x" * 500])
def test_nor_where_a_validator_has_it_in_its_message(value):
    (found,) = errors({**GOOD, "features": {"neutron": {"dns_servers": [value]}}})
    assert value not in found
    assert repr(value) not in found


def test_a_name_that_is_long_or_has_several_lines_is_cut():
    (found,) = errors({**GOOD, PEM * 20: 1})
    assert found.splitlines() == [found]
    assert len(found) < 600


LEAKS = ["password=pw-x", "password = pw-x", "password:pw-x", "user pw-x", "'pw-x'", "pw-x\n", f"{PEM} pw-x"]


@pytest.mark.parametrize("name", LEAKS)
def test_a_name_that_may_contain_a_secret_is_not_repeated(name):
    """The typing error `password=pw-x:` makes a field of it."""
    assert errors({**GOOD, name: 1})[0].startswith("spec.***: unknown field; ")
    assert not any("pw-x" in each for each in errors({**GOOD, "features": {name: {name: 1}, "nova": {name: 1}}}))


@pytest.mark.parametrize(
    "name", ["db_password", "app.kubernetes.io/name", "identity:get", "filter:cors", "~replicas", "größe"]
)
def test_a_name_of_a_field_or_option_is_repeated(name):
    assert errors({**GOOD, name: 1})[0].startswith(f"spec.{name}: unknown field; ")


@pytest.mark.parametrize("line", ["password pw-x", "= pw-x", "[a\nb pw-x"])
def test_an_error_in_options_does_not_repeat_them(line):
    text = f"[DEFAULT]\ndebug = true\n{line}\n"
    spec = {"keystone": {"template": {"customServiceConfig": text}}}
    found = [each for each in errors(spec, OpenStackControlPlaneSpec) if "customServiceConfig" in each]
    assert found
    assert not any("pw-x" in each or "debug" in each for each in found)


def test_ssl_with_a_wrong_value_does_not_repeat_it():
    found = errors({**GOOD, "features": {"ssl": {"public_endpoints": {"ca_cert": 1, "api_cert": 2, "api_key": PEM}}}})
    assert not any("MIIE" in each for each in found)


@pytest.mark.parametrize(
    "path",
    [
        ["transport_url"], ["connection"], ["accessKey"], ["passwords", 0], ["secrets", "alice"], ["api_key"],
        ["keys", 0], ["conf", "nova", "DEFAULT", "admin_password"], ["privateKey"], ["customServiceConfig"],
    ],
)  # fmt: skip
def test_a_value_below_a_name_that_may_be_secret_is_not_repeated(path):
    assert not repeatable(path, "hunter2")


@pytest.mark.parametrize("value", ["rabbit://u:a@h1,v:b@h2/", "redis://:b@h/0", "x password=b"])
def test_credentials_in_a_value_are_not_repeated(value):
    assert not repeatable(["url"], value)


@pytest.mark.parametrize("path", [["keystone", "replicas"], ["secretRef", "name"], ["conf", "nova", "debug"]])
def test_explanations_are_repeated(path):
    assert repeatable(path, "hunter2")


def test_a_long_list_of_allowed_values_is_shown_once():
    found = errors({**GOOD, "features": {"services": ["one", "two"]}, "size": "y"})
    first, second = (error for error in found if "services" in error)
    assert first.startswith("spec.features.services[0]: 'one' is not allowed; allowed: 'block-storage', 'ceph'")
    assert second == "spec.features.services[1]: 'two' is not allowed; allowed: as above"
    assert not [error for error in found if "as above" in error and "services" not in error]
