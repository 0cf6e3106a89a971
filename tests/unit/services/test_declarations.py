"""The declarations of services are consistent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

import pytest
import yaml

from stackwright import assets
from stackwright.cloud.controlplane import OpenStackControlPlaneSpec, Section
from stackwright.services.cloud import Cloud
from stackwright.services.context import COMPUTE, Settings
from stackwright.services.declaration import Service
from stackwright.services.registry import PRESETS, SERVICES
from stackwright.services.values import context_of

CLOUD = Cloud(
    services=tuple(each.service for each in SERVICES),
    requested=tuple(each.service for each in SERVICES),
    network_policies=True,
    storage_class="shared",
    audit="log",
    buses=frozenset(each.name for each in SERVICES),
    cleanups={each.name: {"age": 7} for each in SERVICES},
)
# Fields of settings that only an OpenStackControlPlane sets.
OTHERS = {"keystone": {"admin_password"}}
# Labels of nodes for components that a cloud may have no node for: OVN's agent runs where servers run.
OPTIONAL = {"neutron": {COMPUTE}}
# Settings that turn off what charts have by default, besides the clean-up of databases.
OFF = {"nova": {"libvirt": {"tls": {"enabled": False}}}}

each_service = pytest.mark.parametrize("declared", SERVICES, ids=lambda declared: declared.name)


@each_service
def test_each_setting_is_a_feature_or_a_fact_of_the_cloud(declared: Service) -> None:
    taken = declared.from_cloud(CLOUD)
    declared.settings.model_validate(taken)
    features = declared.features.settings(declared.features.model(), CLOUD) if declared.features else {}
    assert not features, "nothing was set"
    own = set(declared.settings.model_fields) - set(Settings.model_fields)
    if declared.features and issubclass(declared.settings, declared.features.model):
        own -= set(declared.features.model.model_fields)
    elif declared.features:  # another model, built by Features.settings
        own = set()
    assert set(taken) == own - OTHERS.get(declared.name, set())


@each_service
def test_clean_up_and_bus_are_used_by_the_services_that_declare_them(declared: Service) -> None:
    taken = declared.from_cloud(CLOUD)
    assert ("cleanup" in taken) is declared.cleanup
    if declared.own_bus:
        assert taken["messaging_instance"] == f"{declared.name}-rabbitmq"


@each_service
def test_a_service_requires_nodes_with_the_labels_of_its_pods(declared: Service) -> None:
    context = context_of(declared, {})
    assert context is not None
    placed = [place for chart in declared.charts for place in chart.values(context)["labels"].values()]
    labels = {(place["node_selector_key"], place["node_selector_value"]) for place in placed}
    assert set(declared.node_labels) == labels - OPTIONAL.get(declared.name, set())


@each_service
def test_no_null_is_meant_to_override_a_default_of_a_chart(declared: Service) -> None:
    """A merge removes nulls, so the default would apply: an empty value turns such a thing off."""
    idle = replace(CLOUD, cleanups={each.name: {"enabled": False} for each in SERVICES})
    for settings in (declared.from_cloud(CLOUD), declared.from_cloud(idle) | OFF.get(declared.name, {})):
        context = context_of(declared, {"settings": settings})
        assert context is not None
        for chart in declared.charts:
            defaults = yaml.safe_load((assets.require(f"charts/{chart.name}") / "values.yaml").read_text())
            assert not list(ineffective(chart.values(context), defaults, chart.name))


def ineffective(values: Mapping[str, Any], defaults: Mapping[str, Any], path: str) -> Iterator[str]:
    """Paths of nulls for which the chart has another default."""
    for name, value in values.items():
        default = defaults.get(name)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            yield from ineffective(value, default, f"{path}.{name}")
        elif value is None and default is not None:
            yield f"{path}.{name}"


def test_what_replaced_pods_do_not_finish_is_told_of_components_that_exist() -> None:
    for chart in (chart for declared in SERVICES for chart in declared.charts):
        assert chart.replaced.keys() <= {listener.component for listener in chart.listens}


def test_each_call_is_to_a_listener_of_that_name() -> None:
    charts = [chart for declared in SERVICES for chart in declared.charts]
    names = {listener.name for chart in charts for listener in chart.listens if listener.name}
    called = {name for chart in charts for names in (chart.calls, *chart.host_calls.values()) for name in names}
    assert called == names


def test_a_section_is_one_of_a_control_plane() -> None:
    types = {name: get_args(field.annotation) for name, field in OpenStackControlPlaneSpec.model_fields.items()}
    sections = [
        name for name, found in types.items() if any(isinstance(t, type) and issubclass(t, Section) for t in found)
    ]
    assert sorted(declared.section for declared in SERVICES if declared.section) == sorted(sections)


@each_service
def test_pods_with_accounts_of_others_are_of_one_component(declared: Service) -> None:
    """Its controller looks again when one of them changes."""
    assert not declared.serves or "component" in declared.serves


def test_the_larger_preset_has_all_of_the_smaller_one() -> None:
    assert set(PRESETS["core"]) < set(PRESETS["compute"])


def test_names_are_unique() -> None:
    for names in (
        [each.service for each in SERVICES],
        [each.name for each in SERVICES],
        [each.kind.kind for each in SERVICES],
        [public.host for each in SERVICES for public in each.public],
        [chart.name for each in SERVICES for chart in each.charts],
    ):
        assert len(set(names)) == len(names)
