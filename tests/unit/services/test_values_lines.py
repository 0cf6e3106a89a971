"""Options in free-form values are one line: checked by level and path when values are built."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from stackwright.api.services.kinds import ServiceSpec
from stackwright.core.helm.sensitive import cut
from stackwright.services.cinder.features import CinderBackend
from stackwright.services.context import Context
from stackwright.services.registry import BY_SERVICE, SERVICES
from stackwright.services.values import merged_values
from support.paths import ROOT

CHARTS = ROOT / "charts"
CASES = [(declared, chart) for declared in SERVICES for chart in declared.charts]
# Builders of option files from values: each option is one line.
MAKERS = r'include "(?:lib\.(?:oslo_conf|uwsgi_conf|dotted)|libvirt\.conf|nova\.ssh_conf)" [^}]*?\.Values\.conf\.(\w+)'

# Chart → its files that it builds in another way.
BUILT_ELSEWHERE = {"cinder": {"backends"}, "ceph": {"ceph"}, "powerdns": {"powerdns"}}


def built(service: str, values: dict[str, Any]) -> dict[str, Any]:
    declared = BY_SERVICE[service]
    override = {"source": "spec.services", "values": values}
    spec = ServiceSpec.model_validate({"overrides": [override]})
    context = Context(declared.name, "openstack", spec, {}, declared.settings())
    return merged_values(declared, context, next(chart for chart in declared.charts if chart.name in values))


@pytest.mark.parametrize(("declared", "chart"), CASES, ids=lambda each: each.name)
def test_each_file_of_options_is_declared(declared, chart) -> None:
    texts = [path.read_text() for path in (CHARTS / chart.name / "templates").iterdir()]
    found = {name for text in texts for name in re.findall(MAKERS, text)}
    assert set(chart.options) == found | BUILT_ELSEWHERE.get(chart.name, set())


def everywhere(text: str) -> list[tuple[dict[str, Any], str]]:
    """Values with a text at an option, in each of its parts; and the message."""
    return [
        ({"conf": {"nova": {"DEFAULT": {"a": text}}}}, "conf.nova.DEFAULT.a"),
        ({"conf": {"nova": {"DEFAULT": {"a": ["ok", text]}}}}, "conf.nova.DEFAULT.a[1]"),
        ({"conf": {"nova": {"x": {"a": {"type": "multistring", "values": [text]}}}}}, "conf.nova.x.a.values[0]"),
        ({"conf": {"nova": {"DEFAULT": {text: "a"}}}}, "conf.nova.DEFAULT.***"),
        ({"conf": {"nova": {text: {"a": "b"}}}}, "conf.nova.***"),
        ({"conf": {"nova_api_uwsgi": {"uwsgi": {"a": text}}}}, "conf.nova_api_uwsgi.uwsgi.a"),
        (
            {"overrides": {"compute": {"labels": {"a::b": {"conf": {"nova": {"DEFAULT": {"a": text}}}}}}}},
            "overrides.compute.labels.a::b.conf.nova.DEFAULT.a",
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["R\n[DEFAULT]\ntransport_url = evil", "R\revil", "R\x85evil", "R\u2028evil", "R\x00evil"]
)
def test_an_option_of_several_lines_is_refused_with_its_path(text: str) -> None:
    for values, where in everywhere(text):
        with pytest.raises(ValueError, match="control characters") as told:
            built("compute", {"nova": values})
        assert str(told.value).startswith(f"spec.services, chart nova: {where}: must be one line")
        assert "evil" not in str(told.value)


def test_values_other_than_options_may_have_several_lines() -> None:
    values = {"pod": {"annotations": {"api": {"note": "a\nb"}}}, "conf": {"wsgi_placement": "<Virtual>\n</Virtual>"}}
    assert built("placement", {"placement": values})["conf"]["wsgi_placement"] == "<Virtual>\n</Virtual>"
    text = "[mysqld]\nmax_connections = 1\n"
    values = {"conf": {"database": {"config_override": text}}}
    assert built("database", {"mariadb": values})["conf"]["database"]["config_override"] == text


@pytest.mark.parametrize("name", ["a\nb = c", "a]\n[b", "a = b", "#", ""])
def test_a_sensitive_option_has_a_valid_name(name: str) -> None:
    secret = {"value_from": {"secret_key_ref": {"name": "a", "key": "b"}}}
    for conf in ({"DEFAULT": {name: secret}}, {name: {"a": secret}}):
        with pytest.raises(ValueError, match="is not a valid name in a configuration file"):
            cut({"conf": {"nova": conf}}, "nova")


@pytest.mark.parametrize("conf", [{"b": {"x": "R\nevil"}}, {"b": {"x\nevil": "R"}}, {"b\nevil": {"x": "R"}}])
def test_a_back_end_of_volumes_has_options_of_one_line(conf: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="control characters"):
        CinderBackend.model_validate({"values": {"conf": {"backends": conf}}})
