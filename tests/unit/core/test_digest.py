"""Names for desired states."""

import json

from hypothesis import given
from hypothesis import strategies as st

from stackwright.core.digest import LENGTH, digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def shuffled(value):
    """The same value with its keys in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(each) for each in value] if isinstance(value, list) else value


@given(JSON)
def test_the_order_of_keys_makes_no_difference(value):
    assert digest(value) == digest(shuffled(value))


@given(JSON, JSON)
def test_different_states_have_different_digests(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest(one) == digest(other)) == same


def test_a_digest_is_short_enough_for_a_label_and_parts_do_not_run_into_each_other():
    assert len(digest({})) == LENGTH <= 63
    assert digest("a", "b") != digest("ab")
