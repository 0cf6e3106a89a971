"""A request with very long names, or with very many lines, is answered at once and holds up no other request."""

from __future__ import annotations

import time
from typing import Any

import pytest

from stackwright.admission.validate import errors_of

LONG = "a" * 100_000
CLOUD = (
    "lcm.stackwright.dev/v1alpha1",
    "OpenStackDeployment",
    {"openstack_version": "epoxy", "preset": "core", "size": "single"},
)
PLANE = ("core.openstack.org/v1beta1", "OpenStackControlPlane", {"secret": "s", "storageClass": ""})
BUNDLE = ("lcm.mirantis.com/v1alpha1", "HelmBundle", {})


def wrong(form: tuple[str, str, dict[str, Any]], **spec: Any) -> list[str]:
    api_version, kind, base = form
    meta = {"name": "a", "namespace": "b"}
    return errors_of({"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": {**base, **spec}})


def backends(content: Any) -> dict[str, Any]:
    return {"cinder": {"volume": {"backends": content}}}


def configured(text: str) -> dict[str, Any]:
    return {"galera": {}, "memcached": {}, "keystone": {"template": {"customServiceConfig": text}}}


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
    ],
    ids=range(9),
)
def test_it_is_validated_fast(form: Any, spec: dict[str, Any]) -> None:
    began = time.process_time()
    found = wrong(form, **spec)
    assert time.process_time() - began < 3
    assert sum(map(len, found)) < 200_000


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
    ],
    ids=range(7),
)
def test_a_name_that_may_contain_a_secret_is_not_repeated(spec: dict[str, Any]) -> None:
    found = wrong(CLOUD, **spec)
    assert found
    assert "hunter2" not in "".join(found)
