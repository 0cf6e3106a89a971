from __future__ import annotations

import json

import pytest

from stackwright.cli.ui.diff import ABSENT, changes, dotted, masked, shown


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b: 1 → 2"]),
        ({}, {"a": {"b": "x", "c": ""}}, ["a.b: x", 'a.c: ""']),
        ({"a": {"b": 1}}, {}, ["a.b: 1 → removed"]),
        ({"a": None}, {"a": 0}, ["a: null → 0"]),
        ({"a": 1}, {"a": True}, ["a: 1 → true"]),
        ({"a": "1"}, {"a": 1}, ['a: "1" → 1']),
        ({"a": ["x", "y"]}, {"a": ["y", "z"]}, ["a: - x, + z"]),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}, ["a: another order"]),
        ({"a": [{"n": 1}]}, {"a": [{"n": 2}]}, ["a[0].n: 1 → 2"]),
        ({"a": {"b": 1}}, {"a": 5}, ['a: {"b": 1} → 5']),
        ({"a": {}}, {}, ["a: {} → removed"]),
        ({"x.y": 1}, {"x.y": 2}, ['"x.y": 1 → 2']),
    ],
)
def test_changes(old: object, new: object, told: list[str]) -> None:
    assert [str(change) for change in changes(old, new)] == told


def test_a_new_value_at_the_root_is_all_its_leaves() -> None:
    assert [change.dotted for change in changes(ABSENT, {"a": {"b": 1}, "c": []})] == ["a.b", "c"]


@pytest.mark.parametrize("name", ["api_key", "apikey", "API_KEY", "metadata_proxy_shared_secret", "client_secret"])
def test_keys_of_apis_are_hidden(name: str) -> None:
    assert masked({name: "hush"}) == {name: "(hidden)"}


def test_what_looks_like_a_password_is_hidden_in_text_and_data() -> None:
    [change] = changes({"ldap": {"password": "old"}}, {"ldap": {"password": "new"}})
    assert str(change) == "ldap.password: (hidden) → (hidden)"
    assert change.as_dict() == {"path": "ldap.password", "old": "(hidden)", "new": "(hidden)"}


def test_names_of_secrets_and_numbers_are_no_passwords() -> None:
    assert masked({"secrets": {"oslo_db": {"keystone": "keystone-database"}}, "token": {"expiration": 1}}) == {
        "secrets": {"oslo_db": {"keystone": "keystone-database"}},
        "token": {"expiration": 1},
    }
    assert masked({"a": [{"transport_url": "rabbit://u:p@h"}]}) == {"a": [{"transport_url": "(hidden)"}]}


def test_long_values_are_cut() -> None:
    assert len(shown("x" * 500)) == 100


def test_paths_can_be_read_back() -> None:
    assert dotted(("a", "[0]", "b.c", "d")) == 'a[0]."b.c".d'


@pytest.mark.parametrize("bad", ["\x1b[2J", "\x07", "\x9b2J", "\u202e", "\n"])
def test_nothing_that_a_terminal_obeys_is_shown(bad: str) -> None:
    for old, new in (
        ({}, {f"a{bad}": f"b{bad}"}),
        ({"a": f"x{bad}"}, {"a": [f"y{bad}", {f"z{bad}": bad}]}),
        ({"a": [bad]}, {"a": ["x"]}),
    ):
        for change in changes(old, new):
            assert str(change).isprintable()
    assert dotted((f"a{bad}", "b")) == f"{json.dumps(f'a{bad}')}.b", "a path can still be read back"
