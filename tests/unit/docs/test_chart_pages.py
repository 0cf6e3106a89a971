"""The README.md of published charts: generated from the comments of their values, and complete, like their schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import docs as generator
from stackwright.local.image.published.charts import NAMES
from support.paths import ROOT

PASSED_ON = {"global", "stackwright-lib"}  # by Helm, to the library

each_chart = pytest.mark.parametrize("name", [name.partition("/")[2] for name in NAMES])


def objects(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and schema of each object with named values, from the outside to the inside."""
    if "properties" in schema:
        yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from objects(child, f"{path}.{name}" if path else name)
    for child in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(child, dict):
            yield from objects(child, f"{path}[]")


def test_all_published_charts_have_a_page_that_is_up_to_date() -> None:
    pages = generator.chart_pages()
    assert {f"charts/{name}" for name in pages} == {f"{name}/README.md" for name in NAMES}
    for name, text in pages.items():
        assert (ROOT / "charts" / name).read_text() == text, f"charts/{name} is old: call `make docs`"


@each_chart
def test_each_value_of_the_schema_is_described(name: str) -> None:
    schema = json.loads((ROOT / "charts" / name / "values.schema.json").read_text())
    described = [path for path, _ in generator.values_of((ROOT / "charts" / name / "values.yaml").read_text())]
    below = [*described, *PASSED_ON]
    parents = {path.rpartition(".")[0] for path, _ in objects(schema)}
    wanted = {f"{path}.{child}".lstrip(".") for path, found in objects(schema) for child in found["properties"]}
    ends = {path for path in wanted if not any(other.startswith(f"{path}.") for other in (*wanted, *parents))}
    assert [path for path in sorted(ends) if not any(f"{path}.".startswith((f"{e}.", f"{e}[")) for e in below)] == []


@each_chart
def test_unknown_values_are_refused_everywhere(name: str) -> None:
    schema = json.loads((ROOT / "charts" / name / "values.schema.json").read_text())
    assert [path for path, found in objects(schema) if found.get("additionalProperties") is not False] == []


@each_chart
def test_a_package_has_its_page(name: str) -> None:
    assert "README" not in (ROOT / "charts" / name / ".helmignore").read_text()


def test_descriptions_are_read_from_comments() -> None:
    text = "# about\n\na:\n  # an aside\n  # -- first\n  # second\n  b: {c: 1}\n  # -- third\n  d: null\n"
    expected = [("a.b", '{"c": 1}', "first second"), ("a.d", "null", "third")]
    assert [(path, each["default"], each["description"]) for path, each in generator.values_of(text)] == expected


def test_a_value_without_a_description_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^a\.b has no description$"):
        list(generator.values_of("a:\n  b: 1\n"))


def test_a_value_that_the_schema_lacks_is_an_error() -> None:
    with pytest.raises(KeyError, match="b"):
        generator._below({"properties": {"a": {"properties": {}}}}, "a.b")
