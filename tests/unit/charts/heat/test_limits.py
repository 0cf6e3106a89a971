"""What the functions of a template can cause in an engine: limits.py, with a stub of Heat."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest


class Replace(SimpleNamespace):
    fn_name = "str_replace"
    _strict = False

    def _validate_replacement(self, value: object, name: str) -> str:
        return str(value)


def replaced(limits: Any, text: object, strict: bool = False, **values: object) -> str:
    with limits.bounded():
        return str(limits.replace(Replace(_string=text, _mapping=values, _strict=strict)))


def test_longer_keys_are_replaced_first_and_values_are_not_replaced(limits: Any) -> None:
    assert replaced(limits, "ab abc c", ab="c1", abc="ab2", c=3) == "c1 ab2 3"
    assert replaced(limits, "a", strict=True, a="b") == "b"
    with pytest.raises(ValueError, match="not found in the template: bb,c"):
        replaced(limits, "a", strict=True, a="b", bb="", c="")
    with pytest.raises(TypeError, match="must be a string"):
        replaced(limits, 1)


def test_a_replacement_is_counted_before_it_is_made(limits: Any) -> None:
    assert len(replaced(limits, "a" * 1000, a="b" * 1000)) == 1_000_000
    with pytest.raises(ValueError, match="characters"):
        replaced(limits, "a" * 500_000, a="b" * 500_000)
    keys = {chr(0x400 + number): "v" for number in range(900)}
    begun = time.process_time()
    with pytest.raises(ValueError, match="too much time"):
        replaced(limits, "aab" * 130_000, aa="x", **keys)
    assert time.process_time() - begun < 5


def test_repeated_parts_are_counted_together(limits: Any) -> None:
    with limits.bounded():
        assert limits.repeated(None, ["%a%"], ["1"], {"k%a%": ["%a%%a%", 2, None]}) == {"k1": ["11", 2, None]}
    with pytest.raises(ValueError, match="MiB"), limits.bounded():
        while True:
            limits.repeated(None, ["%a%"], ["1"], "%a%")
    with pytest.raises(ValueError, match="characters"):
        limits.repeated(None, [""], ["x" * 100_000], "a" * 1000)


def test_the_results_of_all_functions_of_an_operation_are_counted(limits: Any) -> None:
    limits.bound_resolve()
    text = limits.Function(lambda: "x" * 500_000)
    several = limits.Function(lambda: [limits.engine.function.resolve(text) for _ in range(40)])
    for _ in range(40):
        assert limits.engine.function.resolve(text)
    with pytest.raises(ValueError, match="MiB"):
        limits.engine.function.resolve(several)
    with pytest.raises(ValueError, match="characters"):
        limits.engine.function.resolve(limits.Function(lambda: "x" * 2_000_000))


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [
        ("[a-z][a-z0-9-]*", "a-1", 3),
        ("OS::(Nova|Neutron)::.*", "OS::Nova::Server", 16),
        ("(?i)ab+", "ABB", 3),
        (r"([0-9]{1,3}\.){3}[0-9]{1,3}", "10.0.0.1", 8),
        ("a", "b", None),
        ("(a+)+$", "b", None),
    ],
)
def test_a_pattern_of_a_parameter_matches_as_before(limits: Any, pattern: str, text: str, end: int | None) -> None:
    found = limits.Pattern(pattern).match(text)
    assert (found and found.end()) == end


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 40 + "!"),
        ("(a|aa)*b", "a" * 60),
        ("a*a*a*a*a*a*a*b", "a" * 500),
        ("(" * 50_000, "a"),
    ],
)
def test_a_slow_pattern_of_a_parameter_is_refused(limits: Any, pattern: str, text: str) -> None:
    begun = time.monotonic()
    with pytest.raises(ValueError, match="too much time or memory"):
        limits.Pattern(pattern).match(text)
    assert time.monotonic() - begun < limits.PATIENCE + 5


def test_a_wrong_pattern_is_refused_at_once(limits: Any) -> None:
    with pytest.raises(Exception, match="unterminated"):
        limits.Pattern("[a")


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(.*)*x", ".*.*.*.*x", "(a|b|c|d|e)(a|b|c|d|e){9}", "(?i)x", r"(.*)\1b", "(a)?(?(1)b|c)"]
)
def test_a_filter_of_resource_types_is_quick(limits: Any, pattern: str) -> None:
    with pytest.raises(ValueError, match="too much time"):
        limits.filter_of_types(pattern)
    assert limits.filter_of_types("OS::(Nova|Neutron)::.*").match("OS::Nova::Server")


def test_a_group_has_no_more_members_than_a_stack_resources(limits: Any) -> None:
    conf = SimpleNamespace(max_resources_per_stack=1000)
    limits.member_count.__globals__["cfg"].CONF = conf
    assert limits.member_count(1000) == 1000
    assert limits.member_count(None) is None
    with pytest.raises(ValueError, match="1000 members"):
        limits.member_count(1001)
    conf.max_resources_per_stack = -1
    assert limits.member_count(10**9) == 10**9


def test_the_stacks_in_a_stack_are_counted_together_before_they_are_created(limits: Any) -> None:
    limits.member_count.__globals__["cfg"].CONF = SimpleNamespace(max_resources_per_stack=1000)

    class Template(dict[str, list[str]]):
        RESOURCES = "resources"

    class StackResource:
        def _validate_nested_resources(self, template: Template) -> None:
            self.checked = template

    class Stack:
        def validate(self, count: int, depth: int) -> None:
            StackResource()._validate_nested_resources(Template(resources=["a"] * count))
            for _ in range(count if depth else 0):
                self.validate(count, depth - 1)

        get_nested_parameters = preview_resources = validate

    names = limits.bound_trees.__globals__
    names["stack"].Stack, names["stack_resource"].StackResource = Stack, StackResource
    limits.bound_trees()
    for _ in range(3):
        Stack().validate(5, 3)
    with pytest.raises(ValueError, match="max_resources_per_stack"):
        Stack().validate(100, 4)
    StackResource()._validate_nested_resources(Template(resources=["a"] * 1001))
