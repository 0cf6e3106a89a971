"""A manifest that was admitted never blocks a controller, with any content."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.runtime.memory.shape import schema_of
from tests.unit.controllers.cloud.whole_specs import BASE, STORAGE, at, carried_out, of_schema, overridden

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


def backend(conf: Any) -> dict[str, Any]:
    return {
        **BASE,
        "features": {"services": STORAGE, "cinder": {"volume": {"backends": {"b": {"values": {"conf": conf}}}}}},
    }


def replaced(path: list[str], by: Any) -> dict[str, Any]:
    below = {"charts": {"values": at(path, None)}}
    return {**BASE, "common": below, "services": {"identity": {"keystone": {"values": at(path, by)}}}}


@settings(max_examples=settings.default.max_examples * 5 // 2, deadline=None, suppress_health_check=SLOW)
@example(backend({"cinder": None}))
@example(backend({"backends": {"x": {}}, "cinder": None}))
@example(replaced(["images"], "x"))
@example(replaced(["images", "tags"], ["x"]))
@example(replaced(["images", "tags", "keystone_api"], {"a": 1}))
@example(
    {
        "openstack_version": "epoxy",
        "preset": "core",
        "size": "single",
        "common": {
            "charts": {"values": {"volume": None}, "releases": {"mariadb": {"values": {"volume": 0.5}}}},
        },
    }
)
@given(overridden())
def test_anything_in_the_values_of_a_chart(spec: dict[str, Any]) -> None:
    carried_out(OpenStackDeployment.KIND, spec)


@pytest.mark.parametrize("kind", [OpenStackDeployment.KIND, OpenStackControlPlane.KIND], ids=lambda kind: kind.kind)
def test_any_spec_that_the_schema_allows(kind: Any) -> None:
    schema = schema_of(kind)
    assert schema is not None
    accepted = []
    needed = BASE if kind == OpenStackDeployment.KIND else {}

    @settings(max_examples=settings.default.max_examples * 4, deadline=None, suppress_health_check=SLOW, database=None)
    @given(of_schema(schema["properties"]["spec"]))
    def check(spec: dict[str, Any]) -> None:
        if carried_out(kind, {**needed, **spec}):
            accepted.append(spec)

    check()
    assert len(accepted) > 5, "some of them are admitted"
