"""Rules over several fields with a wrong type: the field reports it, and no rule raises an exception."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from stackwright.api.rules import Rule, Ruled


class Network(Ruled):
    names: list[str]
    part: dict[str, str]
    size: int

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("names", "give one", "", lambda raw: len(raw["names"]) > 1),
        Rule("part", "is empty", "", lambda raw: not raw["part"].get("x")),
        Rule("", "is too small", "", lambda raw: raw["size"] == 1),
    )


RIGHT: dict[str, Any] = {"names": ["a"], "part": {"x": "y"}, "size": 2}


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ({"names": 3}, {"names"}),  # a rule meets a TypeError
        ({"part": "text"}, {"part"}),  # a rule meets an AttributeError
        ({"names": 3, "part": "text", "size": 1}, {"names", "part", ""}),
        ({"names": ["a", "b"], "part": {}, "size": "x"}, {"names", "part", "size"}),
    ],
)
def test_a_wrong_type_is_reported_by_field_with_all_other_errors(wrong: Any, fields: set[str]) -> None:
    assert Network.model_validate(RIGHT)
    with pytest.raises(ValidationError) as caught:
        Network.model_validate(RIGHT | wrong)
    assert {".".join(map(str, error["loc"])) for error in caught.value.errors()} == fields
