"""What Helm refuses of values because of a chart's schema is what we refuse before: the two are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

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


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case.parts[-3:-1]))
def test_no_value_removes_a_statefulset_with_volumes(case: Path) -> None:
    """Kubernetes deletes the volumes with it, and no confirmation would name them."""
    rendered = yaml.safe_load_all((case.parent / "rendered.yaml").read_text())
    for obj in filter(None, rendered):
        if obj["kind"] == "StatefulSet" and obj["spec"].get("volumeClaimTemplates"):
            component = obj["metadata"]["labels"]["component"].replace("-", "_")
            off = {"manifests": {f"statefulset_{component}": False}}
            assert list(value_errors(SCHEMAS[case.parents[1].name], off, "values")), (obj["metadata"]["name"], off)
