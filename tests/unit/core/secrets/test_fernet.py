"""Key repositories: encrypted data is readable for as long as the token lives."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from stackwright.api.services.kinds import ServiceSpec
from stackwright.core.secrets.fernet import rotate, start
from stackwright.services import keystone
from stackwright.services.context import Context
from stackwright.services.keystone.values import CREDENTIAL_KEYS, FERNET_KEYS, TOKEN_EXPIRATION


def turns(count, max_active):
    """The repositories from the start, with keys numbered in their order of creation."""
    fresh = (f"k{number}" for number in itertools.count())
    keys = start(next(fresh), next(fresh))
    yield keys
    for _ in range(count):
        keys = rotate(keys, next(fresh), max_active)
        yield keys


def primary(keys):
    return keys[max(keys, key=int)]


@given(st.integers(3, 10), st.integers(1, 25))
def test_the_staged_key_is_the_next_primary(max_active, count):
    for before, after in itertools.pairwise(turns(count, max_active)):
        assert primary(after) == before["0"]
        assert after["0"] not in before.values()


@given(st.integers(3, 10), st.integers(1, 25))
def test_keys_are_unique_and_never_more_than_allowed(max_active, count):
    for keys in turns(count, max_active):
        assert len(keys) <= max_active
        assert len(set(keys.values())) == len(keys)


@given(st.integers(3, 10), st.integers(1, 25))
def test_a_former_primary_key_decrypts_for_max_active_minus_two_rotations(max_active, count):
    history = list(turns(count, max_active))
    for index, keys in enumerate(history):
        for later in history[index : index + max_active - 1]:
            assert primary(keys) in later.values()


@given(st.integers(0, 100))
def test_fewer_keys_than_allowed_lose_none(count):
    *_, last = turns(count, 200)
    assert len(last) == count + 2


def test_a_smaller_limit_drops_the_oldest_and_keeps_the_staged_and_the_primary():
    *_, keys = turns(8, 10)
    smaller = rotate(keys, "new", 3)
    assert sorted(smaller, key=int)[0] == "0" and len(smaller) == 3
    assert primary(smaller) == keys["0"]
    assert primary(keys) in smaller.values()


def test_keystones_keys_rotate_slowly_enough_for_its_tokens():
    keys = {k.name: k for k in keystone.SERVICE.keys(Context("keystone", "openstack", ServiceSpec(), {}))}
    fernet = keys[FERNET_KEYS]
    # A token lives, and is taken for two days more by services that work for its owner.
    assert fernet.every * (fernet.max_active - 2) >= TOKEN_EXPIRATION + 2 * 24 * 3600
    # No credential may lose its key within a life of the cloud.
    assert keys[CREDENTIAL_KEYS].max_active * keys[CREDENTIAL_KEYS].every > 8 * 365 * 24 * 3600


def test_a_restored_repository_without_a_staged_key_keeps_its_primary():
    assert rotate({"1": "old", "7": "primary"}, "fresh", 3) == {"0": "fresh", "1": "old", "7": "primary"}
    assert rotate({}, "fresh", 3) == {"0": "fresh"}


def test_names_that_are_no_numbers_are_kept():
    keys = {"0": "staged", "1": "primary", "README": "text", "-1": "text"}
    assert rotate(keys, "fresh", 3) == {"0": "fresh", "1": "primary", "2": "staged", "README": "text", "-1": "text"}
