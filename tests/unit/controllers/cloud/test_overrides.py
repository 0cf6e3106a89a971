"""An override that its chart would refuse is refused before it is applied, by its path in the user's manifest."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stackwright.adapters.helm.command import chart_schemas
from stackwright.admission.validate import errors_of
from stackwright.api.fields.naming import Format
from stackwright.api.fields.shared import Quantity
from stackwright.api.rules import ERRORS
from stackwright.cli.manifests.load import check
from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.controllers.cloud.overrides import override_errors
from stackwright.core.helm.chart_schema import KEYWORDS, value_errors
from stackwright.core.settings import Settings
from stackwright.services.registry import BY_SERVICE
from support.paths import ROOT

SCHEMAS = chart_schemas()
SETTINGS = Settings(schemas=SCHEMAS)
API = "lcm.mirantis.com/v1alpha1"
MINE = {"value_from": {"secret_key_ref": {"name": "mine", "key": "password"}}}
NO_VALUE = "the chart has no such value; allowed: "


def cloud(**fields: Any) -> dict[str, Any]:
    spec = {"openstack_version": "epoxy", "preset": "core", "size": "single", **fields}
    meta = {"name": "cloud", "namespace": "openstack"}
    return {"apiVersion": API, "kind": "OpenStackDeployment", "metadata": meta, "spec": spec}


def keystone(**values: Any) -> dict[str, Any]:
    return {"services": {"identity": {"keystone": {"values": values}}}}


KEYSTONE = "spec.services.identity.keystone.values"
SHELL = {"conf": {"datapath": "system; x"}}
WRONG = [
    (keystone(pod={"replicas": {"api": "two"}}), f"{KEYSTONE}.pod.replicas.api: takes a whole number, not 'two'"),
    (keystone(pod={"replicas": {"api": 1.5}}), f"{KEYSTONE}.pod.replicas.api: takes a whole number, not 1.5"),
    (keystone(pod={"replicas": {"api": True}}), f"{KEYSTONE}.pod.replicas.api: takes a whole number, not true"),
    (keystone(pod={"replicas": {"api": -1}}), f"{KEYSTONE}.pod.replicas.api: must be at least 0, not -1"),
    (keystone(pod={"replicas": 2}), f"{KEYSTONE}.pod.replicas: takes a mapping of fields, not 2"),
    (keystone(pod=["replicas"]), f"{KEYSTONE}.pod: takes a mapping of fields"),
    (keystone(replicas="two"), f"{KEYSTONE}.replicas: {NO_VALUE}conf, endpoints, "),
    (keystone(images={"pull_policy": "Often"}), f"{KEYSTONE}.images.pull_policy: 'Often' is not allowed; allowed: "),
    (
        keystone(images={"pull_policy": "always"}),
        f"{KEYSTONE}.images.pull_policy: 'always' is not allowed; did you mean Always? allowed: ",
    ),
    (keystone(image={}), f"{KEYSTONE}.image: the chart has no such value; did you mean images? allowed: conf, "),
    (keystone(images={"pull_secrets": [{}]}), f"{KEYSTONE}.images.pull_secrets[0].name: is required"),
    (keystone(images={"pull_secrets": [{"name": ""}]}), f"{KEYSTONE}.images.pull_secrets[0].name: must not be empty"),
    (keystone(images={"tags": {"keystone_api": 5}}), f"{KEYSTONE}.images.tags.keystone_api: takes text; quote it"),
    (keystone(conf={"keystone": ["x"]}), f"{KEYSTONE}.conf.keystone: a list cannot override a mapping"),
    (
        keystone(conf={"keystone": {"token": {"provider": "a\nb"}}}),
        f"{KEYSTONE}.conf.keystone.token.provider: must be one line, without control characters",
    ),
    (
        keystone(pod={"replicas": {"api": MINE}}),
        f"{KEYSTONE}.pod.replicas.api: value_from is allowed at conf.keystone.<SECTION>.<option> only",
    ),
    (
        {"common": {"openstack": {"releases": {"keystone": {"values": {"pod": {"replicas": {"api": "x"}}}}}}}},
        "spec.common.openstack.releases.keystone.values.pod.replicas.api: takes a whole number, not 'x'",
    ),
    (
        {"common": {"infra": {"values": {"release_group": 5}}}},
        "spec.common.infra.values.release_group: takes text; quote it, not 5 (in mariadb, ",
    ),
    (
        {"nodes": {"rack::a": {"services": {"compute": {"nova": {"compute": {"values": {"pod": 5}}}}}}}},
        "spec.nodes.rack::a.services.compute.nova.compute.values.pod: takes a mapping of fields, not 5",
    ),
    (
        {"services": {"networking": {"openvswitch": {"values": {"overrides": {"a": {"labels": {"rack::a": SHELL}}}}}}}},
        "spec.services.networking.openvswitch.values.overrides.a.labels.rack::a.conf.datapath: "
        "'system; x' is not allowed",
    ),
    *(
        (
            {"services": {"networking": {"openvswitch": {"values": {"overrides": wrong}}}}},
            f"spec.services.networking.openvswitch.values.overrides{where}: takes a mapping of fields",
        )
        for wrong, where in (("x", ""), ({"a": {"labels": {"rack::a": 5}}}, ".a.labels.rack::a"))
    ),
    *(
        (
            {"nodes": {label: {"services": {"compute": {"nova": {"compute": {"values": {}}}}}}}},
            f"spec.nodes.{shown}: {told}",
        )
        for label, shown, told in (
            ("rack:a", "rack:a", "write <label>::<value>"),
            ("rack::", "rack::", "write <label>::<value>"),
            ("::a", "::a", "write <label>::<value>"),
            ("A b::c", "***", "the part before :: is not a valid name of a label"),
            ("a/b/c::d", "a/b/c::d", "the part before :: is not a valid name of a label"),
            ("rack::a::b", "rack::a::b", "the part after :: takes at most 63 letters"),
            (f"rack::{'a' * 64}", f"rack::{'a' * 64}", "the part after :: takes at most 63 letters"),
        )
    ),
    # Of a service that this cloud does not have: it would be wrong once it has.
    (
        {"services": {"block-storage": {"cinder": {"values": {"pod": {"replicas": {"api": []}}}}}}},
        "spec.services.block-storage.cinder.values.pod.replicas.api: takes a whole number",
    ),
]


@pytest.mark.parametrize(("fields", "told"), WRONG)
def test_a_value_that_the_chart_rejects_is_reported_with_its_place_in_the_manifest(fields, told):
    for errors in (errors_of(cloud(**fields), settings=SETTINGS), check(cloud(**fields), "openstack")[1]):
        assert errors[0].startswith(told)
        assert len(errors) == 1


RIGHT = [
    {},
    keystone(pod={"replicas": {"api": 3}}, conf={"keystone": {"ldap": {"password": MINE}}}),
    keystone(pod={"replicas": {"api": 3.0}}),
    # Only a template detects this error; tests/e2e/packs/bad_input covers the result.
    keystone(conf={"keystone": {"token": {"allow_rescope": {"type": "many", "values": ["true"]}}}}),
    keystone(pod={"replicas": {"api": None}}, replicas=None),
    keystone(conf={"keystone": {"any": {"option": [1, "~x"]}}}),
    {"common": {"charts": {"values": {"release_group": "mine"}}}},
    # A level for many charts is one for those that the cloud has.
    {"common": {"infra": {"values": {"pod": {"replicas": {"server": 1}}}}}, "features": {"services": ["~ingress"]}},
    {"nodes": {"rack::a": {"services": {"compute": {"nova": {"compute": {"values": {"conf": {"nova": {}}}}}}}}}},
]


@pytest.mark.parametrize("fields", RIGHT)
def test_values_that_the_chart_accepts_are_accepted(fields):
    assert errors_of(cloud(**fields), settings=SETTINGS) == []
    assert check(cloud(**fields), "openstack")[1] == []


def test_all_errors_of_all_levels_are_reported_together():
    fields = keystone(pod={"replicas": {"api": "two"}}, release_group=5)
    fields["common"] = {"openstack": {"releases": {"glance": {"values": {"pod": 1}}}}}
    assert [error.split(":")[0] for error in errors_of(cloud(**fields), settings=SETTINGS)] == [
        f"{KEYSTONE}.pod.replicas.api",
        f"{KEYSTONE}.release_group",
        "spec.common.openstack.releases.glance.values.pod",
    ]


def test_similar_names_are_searched_for_as_many_errors_as_are_reported():
    """Each search takes long. Wrong values cost none, so their number has no such limit."""
    wrong = {"nova": {"compute": 5}, **{f"chart-{number}": {} for number in range(ERRORS)}}
    fields = {"nodes": {f"rack::{number}": {"services": {"compute": wrong}} for number in range(ERRORS)}}
    spec = OpenStackDeploymentSpec.model_validate(cloud(**fields)["spec"])
    told = override_errors(spec, BY_SERVICE["compute"])
    assert sum("unknown chart" in each for each in told) == ERRORS
    assert len(told) == 2 * ERRORS


def test_a_value_that_may_be_secret_is_never_repeated():
    values = {"secrets": {"password": "s3cr3t"}, "images": {"tags": {"keystone_api": ["s3cr3t"]}}}
    told = errors_of(cloud(**keystone(**values)), settings=SETTINGS)
    assert told
    assert "s3cr3t" not in str(told)
    assert list(value_errors({"properties": {"password": {"type": "integer"}}}, {"password": "s3cr3t"}, "v")) == [
        "v.password: takes a whole number"
    ]


@pytest.mark.parametrize(
    ("kind", "api", "spec", "told"),
    [
        (
            "HelmBundle",
            API,
            {"releases": [{"name": "cache", "chart": "memcached", "values": {"pod": {"replicas": {"server": "x"}}}}]},
            "spec.releases[0].values.pod.replicas.server: takes a whole number, not 'x'",
        ),
        (
            "Keystone",
            "stackwright.dev/v1alpha1",
            {"overrides": [{"source": "me", "values": {"keystone": {"pod": {"replicas": {"api": "x"}}}}}]},
            "spec.overrides[0].values.keystone.pod.replicas.api: takes a whole number, not 'x'",
        ),
        (
            "Neutron",
            "stackwright.dev/v1alpha1",
            {
                "overrides": [
                    {"source": "me", "values": {"openvswitch": {"overrides": {"a": {"labels": {"b": SHELL}}}}}}
                ]
            },
            "spec.overrides[0].values.openvswitch.overrides.a.labels.b.conf.datapath: 'system; x' is not allowed; "
            "did you mean system? allowed: 'auto', 'system', 'netdev'",
        ),
        ("HelmBundle", API, {"releases": [{"name": "a", "chart": "https://example.org/c", "values": {"a": 1}}]}, None),
    ],
)
def test_values_of_other_kinds_are_checked_too(kind, api, spec, told):
    meta = {"name": "thing", "namespace": "openstack"}
    _, errors = check({"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec}, "openstack")
    assert errors == ([told] if told else [])


def test_a_controller_does_not_block_a_cloud_for_earlier_admitted_values():
    """A newer chart may reject more; Helm then reports it for one release."""
    assert errors_of(cloud(**keystone(pod={"replicas": {"api": "two"}}))) == []


def keywords(schema: Any) -> set[str]:
    found = set(schema)
    for children in ("properties",):
        for child in schema.get(children, {}).values():
            found |= keywords(child)
    for child in ("additionalProperties", "propertyNames", "items", "not"):
        if isinstance(schema.get(child), dict):
            found |= keywords(schema[child])
    return found


@pytest.mark.parametrize("chart", SCHEMAS)
def test_the_schemas_of_the_charts_use_only_supported_keywords(chart):
    assert keywords(SCHEMAS[chart]) <= KEYWORDS
    for pattern in re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', json.dumps(SCHEMAS[chart])):
        re.compile(json.loads(f'"{pattern}"'))


SIZES = [("mariadb", "volume"), ("etcd", "volume"), ("rabbitmq", "volume"), ("ceph", "volume"), ("ceph", "osd"),
         ("glance", "volume"), ("ovn", "volume")]  # fmt: skip


@pytest.mark.parametrize(("chart", "part"), SIZES)
def test_the_size_of_a_volume_is_a_quantity_as_in_our_kinds(chart: str, part: str) -> None:
    [format_] = [each for each in get_args(Quantity) if isinstance(each, Format)]
    assert SCHEMAS[chart]["properties"][part]["properties"]["size"]["pattern"] == format_.schema
    for size in ("0", "0Gi", "1.2.3Gi", "...", "10Gi", "0.5Ti"):
        told = list(value_errors(SCHEMAS[chart], {part: {"size": size}}, "values"))
        assert bool(told) == (size not in ("10Gi", "0.5Ti"))
        assert all(each.startswith(f"values.{part}.size: ") for each in told)


@pytest.mark.parametrize("chart", SCHEMAS)
def test_the_values_of_a_chart_fit_its_schema(chart):
    cases = [ROOT / "charts" / chart / "values.yaml", *(ROOT / "tests/golden/charts" / chart).glob("*/values.yaml")]
    for case in cases:
        assert list(value_errors(SCHEMAS[chart], yaml.safe_load(case.read_text()) or {}, case.parent.name)) == []


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["conf", "pod", "replicas", "api", "images", "tags", "keystone", "value_from", "secrets", "x"])
VALUES = st.recursive(ANYTHING, lambda children: st.dictionaries(NAMES, children, max_size=3), max_leaves=8)


@given(st.dictionaries(NAMES, VALUES, max_size=3))
def test_any_override_gets_a_result(values):
    for fields in (keystone(**values), {"common": {"charts": {"values": values}}}):
        errors = errors_of(cloud(**fields), settings=SETTINGS)
        assert all(error.startswith("spec.") and ": " in error for error in errors)
