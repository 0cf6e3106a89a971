from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.api.secrecy import hidden
from stackwright.core.diff import ABSENT, changes, dotted, shown
from tests.unit.api.test_secrecy import SECRETS


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


WORD, FORMER = "s3cr3t-word", "s3cr3t-before"


def told(old: object, new: object) -> str:
    """All output for people and programs."""
    found = changes(old, new, ("spec",))
    assert found, "that it changes is no secret"
    return "\n".join([*map(str, found), json.dumps([each.as_dict() for each in found])])


def new_value(values: dict[str, object]) -> object:
    """The one value of a chart that is new, as a program gets it."""
    [change] = changes({}, values)
    return change.as_dict()["new"]


@pytest.mark.parametrize(
    "name", ["api_key", "apikey", "API_KEY", "metadata_proxy_shared_secret", "client_secret", "user_pass", "admin_pass",
             "secret", "cookies", "bind_pw", "adminPass", "password", "transport_url", "token", "api_cert"],
)  # fmt: skip
def test_a_field_with_a_secret_name_is_hidden(name: str) -> None:
    assert new_value({name: WORD}) == "***"
    for old, new in (({}, WORD), (FORMER, WORD), (WORD, [WORD]), ([FORMER, "a"], ["a", WORD]), ({"a": 1}, WORD)):
        said = told({"conf": {name: old}}, {"conf": {name: new}}) + told({"values": {name: new}}, {})
        assert WORD not in said
        assert FORMER not in said


@pytest.mark.parametrize(
    "spec",
    [
        {"keystone": {"template": {"customServiceConfig": f"[ldap]\nurl=ldap://x\npassword = {WORD}\n"}}},
        {"conf": {"a": {"text": f"[ldap]\npassword = {WORD}\n"}}},
        {"conf": {"ldap": {"url": f"ldap://a:{WORD}@b"}}},
        {"args": [f"--password={WORD}"]},
        {"args": ["a", f"--password {WORD}", {"b": 1}]},
        {"args": ["a", "--token", WORD]},
        {"args": ["mysql", "-p", WORD, {"b": 1}]},
        {"text": json.dumps(["--os-password", WORD])},
        {"text": f"-----BEGIN PRIVATE KEY-----\n{WORD}\n-----END PRIVATE KEY-----"},
        {"env": [{"name": "DB_PASSWORD", "value": WORD}]},
        {"serverMetadata": [{"key": "admin_password", "value": WORD}]},
        {"passwords": {"of": {"alice": [WORD]}}},
        {"passwords": [{"of": WORD}]},
        {"values": {"a": [{"key": WORD}]}},
        {"text": json.dumps({"event": json.dumps({"password": WORD})})},
    ],
)
def test_values_that_a_report_hides_are_in_no_plan(spec: dict[str, object]) -> None:
    before = json.loads(json.dumps(spec).replace(WORD, FORMER))
    for old, new in (({}, spec), (spec, {}), (before, spec), ({"x": 1}, {"x": spec}), ({"x": [1]}, {"x": [spec]})):
        said = told(old, new)
        assert WORD not in said
        assert FORMER not in said
        assert "***" in said


@given(text=st.sampled_from(SECRETS), name=st.sampled_from(["a", "conf", "url"]))
def test_texts_are_shown_without_possible_secrets(text: str, name: str) -> None:
    told_of = "***" if "PRIVATE KEY" in text else hidden(text)
    assert new_value({name: [{"b": text}]}) == [{"b": told_of}]


def test_the_argument_of_an_option_with_a_secret_name_is_hidden() -> None:
    args = ["--port", "80", "--token", WORD, "-p", 1234, "--password", "--verbose", "x", "--secret=a", "--auth-key"]
    shown = [*args[:3], "***", "-p", "***", "--password", "--verbose", "x", "--secret=***", "--auth-key"]
    assert new_value({"args": args}) == shown


def test_a_numeric_password_is_hidden_and_its_change_is_shown() -> None:
    [change] = changes({"ldap": {"password": 123456}}, {"ldap": {"password": 654321}})
    assert str(change) == "ldap.password: *** → ***"
    assert change.as_dict() == {"path": "ldap.password", "old": "***", "new": "***"}


def test_the_explanation_of_a_change_is_kept() -> None:
    kept = {
        "secretName": "keystone-database",
        "keystone": {"token": {"expiration": 1, "provider": "fernet"}},
        "nova": {"keystone_authtoken": {"memcache_security_strategy": "ENCRYPT", "service_token_roles_required": True}},
        "env": [{"name": "A", "value": "1"}, {"name": "B", "secretKeyRef": {"name": "a", "key": "b"}}],
        "password": None,
    }
    assert all("***" not in str(change) for change in changes({}, kept))
    authtoken = {"conf": {"nova": {"keystone_authtoken": {"password": WORD, "memcache_secret_key": WORD}}}}
    assert all(WORD not in str(change) for change in changes({}, authtoken))


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
