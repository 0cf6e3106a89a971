"""A request with very long names, or with very many lines, is answered at once and holds up no other request."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest

from stackwright.admission.validate import errors_of
from stackwright.api.errors import name_of
from stackwright.core.helm.chart_schema import value_errors

LONG = "a" * 100_000
SECRET = {"value_from": {"secret_key_ref": {"name": "a", "key": "b"}}}
SECRETS = {f"x{number}": SECRET for number in range(4_000)}
CLOUD = (
    "lcm.stackwright.dev/v1alpha1",
    "OpenStackDeployment",
    {"openstack_version": "epoxy", "preset": "core", "size": "single"},
)
PLANE = ("core.openstack.org/v1beta1", "OpenStackControlPlane", {"secret": "s", "storageClass": ""})
CLUSTER = (
    "infrastructure.cluster.x-k8s.io/v1beta1",
    "OpenStackCluster",
    {"identityRef": {"name": "a", "cloudName": "b"}},
)
BUNDLE = ("lcm.mirantis.com/v1alpha1", "HelmBundle", {})


def wrong(form: tuple[str, str, dict[str, Any]], **spec: Any) -> list[str]:
    api_version, kind, base = form
    meta = {"name": "a", "namespace": "b"}
    return errors_of({"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": {**base, **spec}})


def backends(content: Any) -> dict[str, Any]:
    return {"cinder": {"volume": {"backends": content}}}


def configured(text: str) -> dict[str, Any]:
    return {"galera": {}, "memcached": {}, "keystone": {"template": {"customServiceConfig": text}}}


def many_backends(number: int, types: int) -> dict[str, Any]:
    """Back ends with long names, and volume types of other ones."""
    sections: dict[str, Any] = {f"{'a-' * 40}{each}": {} for each in range(number)}
    cinder = backends({"b": {"values": {"conf": {"backends": sections}}}})["cinder"]
    return {"cinder": {**cinder, "volume_types": {f"t{each}": {"backend": f"x{each}"} for each in range(types)}}}


def of_nodes(label: str) -> dict[str, Any]:
    """Values of a DaemonSet on some nodes, with 100 errors."""
    annotations = {f"k{number}": number for number in range(100)}
    values = {"pod": {"annotations": {"x": annotations}}}
    return {label: {"services": {"networking": {"openvswitch": {"openvswitch": {"values": values}}}}}}


def of_labels(label: str) -> dict[str, Any]:
    """Options of a DaemonSet on some nodes, with 160 line breaks."""
    options = {f"o{number}": "a\nb" for number in range(20)}
    files = ("neutron", "plugins", "dhcp_agent", "l3_agent", "metadata_agent", "ovn_metadata_agent", "logging")
    conf = {file: {"S": options} for file in files}
    values = {"overrides": {"ovs-agent": {"labels": {label: {"conf": conf}}}}}
    return {"networking": {"neutron": {"values": values}}}


@pytest.mark.parametrize(
    ("form", "spec"),
    [
        (CLOUD, {"features": backends({"b": {"values": {"conf": {"backends": {"b": {LONG: ["\n"] * 1000}}}}}})}),
        (
            CLOUD,
            {
                "features": backends(
                    {"b": {"values": {"conf": {"backends": {"b": {LONG: {str(i): "\n" for i in range(1000)}}}}}}}
                )
            },
        ),
        (CLOUD, {"features": backends({LONG: {str(number): 1 for number in range(100)}})}),
        (CLOUD, {LONG * 39: 1}),
        (CLOUD, {"services": {f"{LONG}{number}": {} for number in range(30)}}),
        (
            BUNDLE,
            {
                "releases": [
                    {
                        "name": "a",
                        "chart": "keystone",
                        "values": {"images": {"tags": {f"{LONG}{n}": 1 for n in range(30)}}},
                    }
                ]
            },
        ),
        (PLANE, configured("[a]\n" + "x=\n" * 400_000)),
        (PLANE, configured("[a]\n" + "x=\n" * 4_000)),
        (PLANE, configured("[a]\n" + f"{LONG}[=1\n")),
        (PLANE, configured(f"[{LONG * 14}]\n" + "x=\n" * 4_990)),
        (PLANE, configured("".join(f"[{LONG[:250]}{number}]\nx=\n" for number in range(2_400)))),
        (CLOUD, {"services": {"identity": {"keystone": {"values": {"conf": {"keystone": {LONG: SECRETS}}}}}}}),
        (CLOUD, {"nodes": {f"{LONG[:1500]}{number}": {"services": {}} for number in range(2_000)}}),
        (CLOUD, {"services": {"database": {"mariadb": {"values": {"volume": {"size": "1" * 100_000 + "x"}}}}}}),
        (CLUSTER, {"managedSubnets": [{"cidr": "192.0.2.0/24", "allocationPools": LONG * 39}]}),
        (CLOUD, {"features": many_backends(5_000, 5_000)}),
        (CLOUD, {"services": {f"{LONG[:500]}{number}": {} for number in range(15_000)}}),
    ],
    ids=range(17),
)
def test_it_is_validated_fast(form: Any, spec: dict[str, Any]) -> None:
    began = time.process_time()
    found = wrong(form, **spec)
    assert time.process_time() - began < 3
    assert sum(map(len, found)) < 200_000


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"nodes": of_nodes(f"{LONG}::b")}, "spec.nodes"),
        ({"services": of_labels(LONG * 10)}, "spec.services.networking.neutron.values.overrides.ovs-agent.labels"),
        ({"common": {"charts": {"values": {"list": [{LONG: 1}]}}}}, "spec.common.charts.values.list[0]"),
    ],
    ids=range(3),
)
def test_a_long_name_is_refused_and_copied_nowhere(spec: dict[str, Any], where: str) -> None:
    tracemalloc.start()
    try:
        assert wrong(CLOUD, **spec) == [f"{where}: names of fields must have at most 512 characters"]
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_errors_of_many_unknown_back_ends_use_little_memory() -> None:
    tracemalloc.start()
    try:
        assert wrong(CLOUD, features=many_backends(1_000, 5_000))
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["db password ", "password=pw", "n" * 90 + "_password", "connection.x", "rootpw.x"])
def test_value_below_a_name_that_is_not_shown_is_not_shown_either(name: str) -> None:
    schema = {"additionalProperties": {"type": "string"}}
    [error] = value_errors(schema, {name: 123456}, "spec.x")
    assert "123456" not in error


def test_a_text_of_too_many_lines_is_refused() -> None:
    [error] = wrong(PLANE, **configured("[a]\n" + "x=\n" * 6_000))
    assert error == "spec.keystone.template.customServiceConfig: has more than 5000 lines"
    assert wrong(PLANE, **configured("[a]\n" + "x=\n" * 4_000)) == []


@pytest.mark.parametrize(
    "spec",
    [
        {"services": {"keystone_password=hunter2": {}}},
        {"features": backends({"b": {"values": {"conf": {"password=hunter2": {}, "backends": {"b": {}}}}}})},
        {
            "features": backends(
                {"b": {"values": {"conf": {"backends": {"password=hunter2": {"volume_backend_name": 1}}}}}}
            )
        },
        {"features": {"cinder": {"volume_types": {"password=hunter2 ": {}}}}},
        {"features": {"cinder": {"volume_types": {"password=hunter2": {"backend": "x"}}}}},
        {"features": {"cinder": {"volume_types": {"a": {"qos": {"specs": {"password=hunter2": 1}}}}}}},
        {"features": {"glance": {"backends": {"rbd": {"password=hunter2": {}}}}}},
        {"features": {"cinder": {"volume_types": {"a": {"backend": "password=hunter2"}}}}},
        {
            "features": {
                "cinder": {
                    "volume_types": {"a": {"backend": "x"}},
                    **backends({"b": {"values": {"conf": {"backends": {"password=hunter2": {"a": "b"}}}}}})["cinder"],
                }
            }
        },
        {"services": {"identity": {"password=hunter2": {}}}},
        {"services": {"identity": {"keystone": {"password=hunter2": {}}}}},
        {"common": {"openstack": {"releases": {"password=hunter2": {}}}}},
        {"nodes": {"password=hunter2": {"services": {}}}},
        {"nodes": {"a::password=hunter2": {"services": {"identity": {"keystone": []}}}}},
        {"nodes": {"a::b": {"services": {"password=hunter2": {}}}}},
        {"nodes": {"a::b": {"services": {"networking": {"neutron": {"password=hunter2": {}}}}}}},
    ],
    ids=range(16),
)
def test_a_name_that_may_contain_a_secret_is_not_repeated(spec: dict[str, Any]) -> None:
    found = wrong(CLOUD, **spec)
    assert found
    assert "hunter2" not in "".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "[DEFAULT]\npassword hunter2 # note: {{ x }}\n",
        "[database mysql://u:hunter2@h]\nx = {{ x }}\n",
        "[DEFAULT]\npassword hunter2 : a\n  continued\n",
        "[DEFAULT]\npassword hunter2: ~a\npassword hunter2: b\n",
    ],
    ids=range(4),
)
def test_an_error_in_ini_text_repeats_no_secret(text: str) -> None:
    found = wrong(PLANE, **configured(text))
    assert found
    assert "hunter2" not in "".join(found)


def test_a_secret_that_ends_after_the_shown_part_of_a_name_is_recognized() -> None:
    assert name_of("mysql+pymysql://keystone:" + "hunter2" * 12 + "@mariadb") == "***"


def test_a_spec_of_too_many_levels_is_refused() -> None:
    deep: Any = 1
    for _ in range(2_000):
        deep = {"a": deep}
    [error] = wrong(CLOUD, services={"compute": {"nova": {"values": {"conf": {"nova": deep}}}}})
    assert error == "spec: must have at most 100 levels"


def test_a_mapping_in_the_place_of_a_choice_is_not_repeated() -> None:
    found = wrong(CLOUD, preset={"admin": {"password": "hunter2"}}, size=[{"password": "hunter2"}])
    assert found
    assert "hunter2" not in "".join(found)
