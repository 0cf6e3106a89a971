"""What Helm refuses of values because of a chart's schema is what we refuse before: the two are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.helm.command import chart_schemas
from stackwright.core.helm.chart_schema import value_errors
from support.paths import ROOT
from tests.golden.test_charts import CASES, helm
from tests.golden.test_charts_hostile import put, values_of

SCHEMAS = chart_schemas()
FIRST = {case.parents[1].name: case for case in reversed(CASES)}
WRONG: tuple[Any, ...] = ("two", 7, True, ["x"], {"x": 1})


def leaves(schema: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths that the schema constrains."""
    children = schema.get("properties", {})
    return [leaf for name in children for leaf in leaves(children[name], (*path, name))] if children else [path]


def changed(case: Path, path: tuple[str, ...], value: Any) -> dict[str, Any]:
    values, _ = values_of(case)
    for index in range(1, len(path)):
        inside = values
        for part in path[: index - 1]:
            inside = inside[part]
        if not isinstance(inside.get(path[index - 1]), dict):
            inside[path[index - 1]] = {}
    put(values, path, value)
    return values


@pytest.mark.parametrize("chart", FIRST)
def test_helm_and_we_refuse_the_same(chart: str, tmp_path: Path) -> None:
    """Of some fields of each chart, one wrong or right value each."""
    paths = leaves(SCHEMAS[chart])
    some = paths[:: max(1, len(paths) // len(WRONG))][: len(WRONG)]
    refused = 0
    for number, (path, value) in enumerate(zip(some, WRONG, strict=False)):
        values = changed(FIRST[chart], path, value)
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(values))
        done = helm("template", chart, str(ROOT / "charts" / chart), "--namespace=openstack", f"--values={file}")
        ours = list(value_errors(SCHEMAS[chart], values, "values"))
        refused += bool(ours)
        assert bool(ours) == ("meet the specifications of the schema" in done.stderr), (path, value, ours, done.stderr)
    assert refused
