"""Templates with fields: users' values are inserted literally, without any interpretation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.core.secrets.filling import fill, literal, names

FIELDS = {"username": "glance", "password": "{username} {{x}}", "n": 'a"b'}
BRACES = st.text(alphabet="ab{}:!.[]0<>", max_size=12)


def test_fields_are_replaced_once() -> None:
    assert fill("{username}:{password}!", FIELDS) == "glance:{username} {{x}}!"
    assert fill('"n": {n!j}', FIELDS) == '"n": "a\\"b"'
    assert list(names("a {x} {{y}} {z!j} {q:>9} {r.s} {t[0]}")) == [("x", False), ("z", True)]


def test_an_unknown_field_of_a_template_is_an_internal_error() -> None:
    with pytest.raises(KeyError, match="other"):
        fill("{other}", FIELDS)


@given(BRACES, BRACES)
def test_text_of_a_user_is_unchanged(before: str, after: str) -> None:
    assert fill(f"{literal(before)}{{username}}{literal(after)}", FIELDS) == f"{before}glance{after}"


@pytest.mark.parametrize("text", ["{n:>3000000000}", "{n!r}", "{n.__class__}", "{n[0]}", "{", "}", "{0}{", "{n!j:>99}"])
def test_other_features_of_pythons_format_are_plain_text(text: str) -> None:
    assert fill(text, {**FIELDS, "0": "zero"}) in (text, "zero{")
