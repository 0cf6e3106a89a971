"""Order as a graph."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.core.graph import waves


@st.composite
def acyclic(draw):
    """Each node may need those before it, and some that do not exist."""
    nodes = [f"n{index}" for index in range(draw(st.integers(0, 8)))]
    return {
        node: draw(st.lists(st.sampled_from([*nodes[:index], "absent"]), max_size=3))
        for index, node in enumerate(nodes)
    }


@given(acyclic())
def test_every_node_comes_once_and_after_all_that_it_needs(needs):
    order = waves(needs)
    assert sorted(node for wave in order for node in wave) == sorted(needs)
    done = set()
    for wave in order:
        for node in wave:
            assert {need for need in needs[node] if need in needs} <= done
        done |= set(wave)


@given(acyclic())
def test_no_node_waits_longer_than_it_has_to(needs):
    order = waves(needs)
    for earlier, later in itertools.pairwise(order):
        for node in later:
            assert set(needs[node]) & set(earlier), f"{node} could have been in the wave before"


def test_a_cycle_is_refused_and_its_nodes_are_named():
    with pytest.raises(ValueError, match="these need each other: b, c"):
        waves({"a": [], "b": ["c", "a"], "c": ["b"]})
