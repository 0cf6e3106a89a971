"""Levels of overrides: their text in a service object, their order, and the paths in the user's manifest."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stackwright.controllers.cloud.level import Level, Rank

LEVELS = [
    (Level(Rank.ALL_CHARTS), "spec.common.charts.values", "spec.common.charts.values"),
    (Level(Rank.ANY_CHART), "spec.common.charts.releases", "spec.common.charts.releases.nova.values"),
    (Level(Rank.GROUP, "infra"), "spec.common.infra.values", "spec.common.infra.values"),
    (Level(Rank.GROUP_CHART, "infra"), "spec.common.infra.releases", "spec.common.infra.releases.nova.values"),
    (Level(Rank.SERVICES), "spec.services", "spec.services.compute.nova.values"),
    (Level(Rank.NODES, "a::b"), "spec.nodes.a::b", "spec.nodes.a::b.services.compute.nova"),
    (Level(Rank.FIELD, "spec.nova.template"), "spec.nova.template", "spec.nova.template"),
]


@pytest.mark.parametrize(("level", "text", "path"), LEVELS, ids=[text for _, text, _ in LEVELS])
def test_a_level_has_one_text_and_the_path_of_its_values(level, text, path):
    assert str(level) == text
    assert Level.parse(text) == level
    assert level.path("compute", "nova") == path
    assert level.value_path("compute", "nova", "x") == (text if level.rank is Rank.FIELD else f"{path}.x")
    assert level.is_shared is (text.startswith("spec.common.") and text.endswith(".values"))


def test_each_kind_of_level_is_tested_in_rising_priority():
    assert [level.rank for level, _, _ in LEVELS] == sorted(Rank)


@given(st.from_regex(r"[a-zA-Z./_-]+::[a-zA-Z._-]*", fullmatch=True))
def test_any_label_of_nodes_is_kept(label):
    assert Level.parse(str(Level(Rank.NODES, label))) == Level(Rank.NODES, label)


@example("spec.common.values")
@given(st.text())
def test_any_text_in_a_service_object_is_a_level(text):
    assert str(Level.parse(text)) == text
