"""Layered values."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.core.helm.merge import MergeConflict, merge

NAMES = st.sampled_from("abcd")
SCALARS = st.sampled_from(["x", "y", "z", 1, 2, 3])
# Each name has one type at every place, so layers never disagree about types.
LAYERS = st.fixed_dictionaries(
    {},
    optional={
        "scalar": SCALARS,
        # Except items that one layer removes and adds: they move to the end, each time.
        "list": st.lists(st.sampled_from(["x", "y", "z", "~x", "~y", 1, 2]), max_size=5).filter(
            lambda items: not {f"~{item}" for item in items} & {*items}
        ),
        "map": st.dictionaries(NAMES, SCALARS | st.none(), max_size=3),
        "deep": st.fixed_dictionaries(
            {}, optional={"map": st.dictionaries(NAMES, SCALARS, max_size=2), "list": st.lists(SCALARS, max_size=3)}
        ),
    },
)


@given(LAYERS, LAYERS)
def test_merging_a_layer_twice_changes_nothing_more(below, above):
    once = merge(below, above)
    assert merge(once, above) == once


@given(st.lists(LAYERS, max_size=3))
def test_inputs_are_never_changed(layers):
    before = copy.deepcopy(layers)
    merge(*layers)
    assert layers == before


@given(LAYERS, LAYERS)
def test_the_later_scalar_wins_at_any_depth(below, above):
    merged = merge(below, above)
    for name, value in above.get("map", {}).items():
        assert merged["map"].get(name) == value
    if "scalar" in above:
        assert merged["scalar"] == above["scalar"]
    elif "scalar" in below:
        assert merged["scalar"] == below["scalar"]


@given(LAYERS, LAYERS)
def test_no_removal_and_no_none_is_left_over(below, above):
    def walk(value):
        assert value is not None
        assert not (isinstance(value, str) and value.startswith("~"))
        for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(child)

    walk(merge(below, above))


def test_a_removed_item_is_deleted_from_lower_levels_only():
    assert merge({"l": ["a", "b", "c"]}, {"l": ["~b", "d"]}) == {"l": ["a", "c", "d"]}
    assert merge({"l": ["a"]}, {"l": ["~a"]}, {"l": ["a"]}) == {"l": ["a"]}
    assert merge({}, {"l": ["~a", "b"]}) == {"l": ["b"]}


def test_none_removes_a_key_and_a_later_level_may_set_it_again():
    assert merge({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}) == {"a": {"c": 2}}
    assert merge({"a": {"b": 1}}, {"a": None}, {"a": {"d": 1}}) == {"a": {"d": 1}}
    assert merge({"a": None}) == {}


def test_a_reference_to_a_secret_is_replaced_as_a_whole():
    one = {"value_from": {"secret_key_ref": {"name": "one", "key": "k"}}}
    two = {"value_from": {"secret_key_ref": {"name": "two", "key": "k"}}}
    assert merge({"p": one}, {"p": two}) == {"p": two}
    assert merge({"p": one}, {"p": {"a": 1}}) == {"p": {"a": 1}}, "half a reference would be left"
    assert merge({"p": {"a": 1}}, {"p": one}) == {"p": one}


def test_none_in_an_item_of_a_list_has_nothing_to_remove_and_does_not_reach_the_chart():
    assert merge({"l": [{"a": 1}]}, {"l": [{"b": None, "c": {"d": None}}]}) == {"l": [{"a": 1}, {"c": {}}]}
    assert merge({}, {"l": [{"b": None, "c": 2}]}) == {"l": [{"c": 2}]}


@pytest.mark.parametrize(
    ("below", "above", "text"),
    [
        ({"a": {"b": {"c": 1}}}, {"a": {"b": 2}}, "a.b: a single value cannot override a mapping"),
        ({"a": [1]}, {"a": {"b": 2}}, "a: a mapping cannot override a list"),
        ({"a": {"b": "x"}}, {"a": {"b": ["x"]}}, "a.b: a list cannot override a single value"),
    ],
)
def test_a_value_that_changes_its_shape_is_refused_with_its_path(below, above, text):
    with pytest.raises(MergeConflict) as caught:
        merge(below, above)
    assert str(caught.value) == text
    assert caught.value.path == text.split(":")[0]


def test_long_lists_unite_in_no_time():
    """Each item was compared with all before it."""
    texts, numbers, mappings = [f"x{n}" for n in range(50_000)], list(range(50_000)), [{"a": n} for n in range(50_000)]
    every = [*texts, *numbers, *mappings]
    assert merge({"list": every}, {"list": every[::-1]}) == {"list": every}
    assert merge({"list": every}, {"list": [f"~{text}" for text in texts]}) == {"list": [*numbers, *mappings]}


def test_an_item_that_equals_an_existing_one_after_a_removal_is_not_duplicated():
    layer = {"list": [{"a": 1, "b": None, "c": ["x", "x"]}]}
    assert merge(layer, layer) == {"list": [{"a": 1, "c": ["x"]}]}
