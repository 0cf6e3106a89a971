"""Shapes of JSON of other systems: what does not fit is named for users, and removed for readers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.core.shapes import ListOf, MapOf, Struct, fitted, misfits

ITEM = Struct({"type": str, "reason": str}, ("type",))
SHAPE = Struct({"on": bool, "name": str, "labels": MapOf(str), "items": ListOf(ITEM), "below": Struct({"id": str})})
NAMES = st.sampled_from(["on", "name", "labels", "items", "below", "type", "reason", "id", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(NAMES, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "told", "left"),
    [
        ({}, [], {}),
        (None, [], None),
        ({"other": 5, "name": "a", "on": False}, [], {"other": 5, "name": "a", "on": False}),
        ({"name": None, "below": None}, [], {}),
        (5, [": takes a mapping, not a number"], None),
        (
            {"name": 5, "on": "no"},
            ["on: takes true or false, not text", "name: takes text, not a number"],
            {"on": "no"},
        ),
        (
            {"labels": {"a": "b", "c": True}},
            ["labels.c: takes text, not true or false"],
            {"labels": {"a": "b"}},
        ),
        (
            {"labels": ["a"], "items": {}},
            ["labels: takes a mapping, not a list", "items: takes a list, not a mapping"],
            {},
        ),
        (
            {"items": [{"type": "A", "reason": 5}, {"reason": "B"}, {"type": ""}, "C"]},
            [
                "items[0].reason: takes text, not a number",
                "items[1].type: is required",
                "items[2].type: is required",
                "items[3]: takes a mapping, not text",
            ],
            {"items": [{"type": "A"}]},
        ),
        ({"below": {"id": []}}, ["below.id: takes text, not a list"], {"below": {}}),
    ],
)
def test_each_field_of_another_type_is_named_and_removed(value: Any, told: list[str], left: Any) -> None:
    assert list(misfits(value, SHAPE, "")) == told
    assert fitted(value, SHAPE) == left


def test_a_value_without_a_required_part_does_not_fit_at_all() -> None:
    shape = Struct({"spec": Struct({"address": str}, ("address",))}, ("spec",))
    for value in ({}, {"spec": None}, {"spec": {}}, {"spec": {"address": 5}}, {"spec": 5}):
        assert fitted(value, shape) is None
        assert len(list(misfits(value, shape, ""))) == 1
    assert fitted({"spec": {"address": "1"}}, shape) == {"spec": {"address": "1"}}


@given(JSON)
def test_what_fits_is_kept_and_the_rest_fits_afterwards(value: Any) -> None:
    rest = fitted(value, SHAPE)
    assert fitted(rest, SHAPE) == rest
    assert all(error.startswith("on: ") for error in misfits(rest, SHAPE, ""))
