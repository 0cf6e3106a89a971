"""Values are text, never code: every chart is rendered with hostile strings in every free-text value, and parsed.

The output has the same objects, fields, types, sections and options as with harmless strings; or the chart rejects
the value by name.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.paths import ROOT
from tests.golden.test_charts import CASES, each_case, helm, objects

# Read as something else without quotes: a truth value, numbers, a comment, a field, an item, an anchor, a template.
ONE_LINE = ("NO", "1", "1e3", "null", "a: b", "x # y", "q, r: s}]", "'\"", "&a", "{{ .Values }}", "- z", "%", "@x")
LINES = ("R\n[DEFAULT]\ntransport_url=evil", "R\n      - {name: EVIL, value: evil}", "R\revil", "R\x85evil")


def free(values: Any, schema: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of texts that the schema does not restrict."""
    if isinstance(values, dict):
        known = schema.get("properties", {})
        more = schema.get("additionalProperties", {})
        more = more if isinstance(more, dict) else {}
        found = [free(value, known.get(key, more), (*path, key)) for key, value in values.items()]
    elif isinstance(values, list):
        items = schema.get("items", {})
        found = [free(item, items, (*path, i)) for i, item in enumerate(values)]
    else:
        limited = {"enum", "pattern", "const", "anyOf", "oneOf", "format"} & schema.keys()
        return [path] if isinstance(values, str) and values and not limited and not whole(path) else []
    return [each for paths in found for each in paths]


def whole(path: tuple[Any, ...]) -> bool:
    """Fields that are not free: Kubernetes' own fields, modes of parsing, and my.cnf, whose lines are its values."""
    text = ".".join(map(str, path))
    return bool(re.match(r"(pod|network\.policies|images\.pull_policy|manifests|overrides|labels)\b", text)) or (
        path[-1] in ("type", "config_override")
    )


def values_of(case: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    chart = ROOT / "charts" / case.parents[1].name
    base = yaml.safe_load((chart / "values.yaml").read_text()) or {}
    return over(base, yaml.safe_load(case.read_text()) or {}), json.loads((chart / "values.schema.json").read_text())


def over(below: Any, above: Any) -> Any:
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return {key: over(below.get(key), above[key]) if key in above else below[key] for key in {**below, **above}}


def put(values: Any, path: tuple[Any, ...], text: str) -> None:
    for part in path[:-1]:
        values = values[part]
    values[path[-1]] = text


def rendered(case: Path, values: dict[str, Any], where: Path) -> Any:
    chart = case.parents[1].name
    where.write_text(json.dumps(values))
    return helm.__wrapped__(
        "template", chart, str(ROOT / "charts" / chart), "--namespace=openstack", f"--values={where}"
    )


def shape(node: Any) -> Any:
    """Names of fields and types; of a configuration file its sections and options."""
    if isinstance(node, dict):
        return {key: shape(value) for key, value in node.items()}
    if isinstance(node, list):
        return [shape(item) for item in node]
    if isinstance(node, str) and re.match(r"\[\w+\]\n", node):
        lines = [line for line in re.split(r"[\r\n\x85]", node) if line]
        return [line if line.startswith("[") else line.partition(" =")[0] for line in lines]
    return type(node).__name__


@each_case
def test_a_hostile_text_stays_a_text(case: Path, tmp_path: Path) -> None:
    values, schema = values_of(case)
    paths = free(values, schema)
    changed = copy.deepcopy(values)
    for i, path in enumerate(paths):
        put(changed, path, ONE_LINE[i % len(ONE_LINE)])
    done = rendered(case, changed, tmp_path / "values.yaml")
    assert done.returncode == 0, done.stderr
    found = [item for item in yaml.safe_load_all(done.stdout) if item]
    assert shape(found) == shape(objects(case))


@each_case
def test_lines_are_rejected_or_stay_one_text(case: Path, tmp_path: Path) -> None:
    values, schema = values_of(case)
    conf = [path for path in free(values, schema) if path[0] == "conf"]
    for text, paths in ((LINES[0], conf[:1]), (LINES[2], conf[-1:])):
        for path in paths:
            changed = copy.deepcopy(values)
            put(changed, path, text)
            done = rendered(case, changed, tmp_path / "values.yaml")
            if done.returncode:
                assert "control characters are not allowed" in done.stderr
                assert "evil" not in done.stderr
                continue
            found = [item for item in yaml.safe_load_all(done.stdout) if item]
            assert shape(found) == shape(objects(case)), path
    changed = copy.deepcopy(values)
    for i, path in enumerate(each for each in free(values, schema) if each[0] != "conf"):
        put(changed, path, LINES[i % len(LINES)])
    done = rendered(case, changed, tmp_path / "values.yaml")
    if done.returncode:
        assert "control characters are not allowed" in done.stderr or "no name of" in done.stderr, done.stderr
    else:
        assert shape([item for item in yaml.safe_load_all(done.stdout) if item]) == shape(objects(case))


@pytest.mark.parametrize("text", LINES[:1] + LINES[2:])
def test_a_configuration_file_rejects_line_breaks(text: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.parents[1].name == "keystone")
    for conf in ({"DEFAULT": {"a": text}}, {"DEFAULT": {"a": [text]}}, {"DEFAULT": {text: "a"}}, {text: {"a": "b"}}):
        values = {"images": {"tags": {"keystone_api": "a", "keystone_db_sync": "a"}}, "conf": {"keystone": conf}}
        done = rendered(case, values, tmp_path / "values.yaml")
        assert done.returncode != 0
        assert "control characters" in done.stderr or "no name of" in done.stderr


def test_a_region_like_a_boolean_stays_a_text(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.parents[1].name == "keystone")
    values, _ = values_of(case)
    for text in ("NO", "1", "R\n      - {name: EVIL, value: evil}"):
        put(values, ("endpoints", "identity", "auth", "admin", "region_name"), text)
        done = rendered(case, values, tmp_path / "values.yaml")
        assert done.returncode == 0, done.stderr
        jobs = [item for item in yaml.safe_load_all(done.stdout) if item and item["kind"] == "Job"]
        pod = jobs[0]["spec"]["template"]["spec"]
        told = [e["value"] for c in pod["containers"] for e in c["env"] if e["name"] == "OS_BOOTSTRAP_REGION_ID"]
        assert told == [text]


BUDGET = {"pod": {"lifecycle": {"disruption_budget": {"server": {"max_unavailable": ""}}}}}


@pytest.mark.parametrize("checked", [True, False], ids=["schema", "template"])
@pytest.mark.parametrize("text", ["1\n---\nkind: Pod", "1 # a", "{{ 1 }}", "x%", "1%\n", "50%"])
def test_a_number_that_may_be_a_text_is_no_yaml(text: str, checked: bool, tmp_path: Path) -> None:
    """Anyone who may create a HelmBundle chooses values of its charts."""
    changed = copy.deepcopy(BUDGET) | {"images": {"tags": {"memcached": "a"}}}
    put(changed, ("pod", "lifecycle", "disruption_budget", "server", "max_unavailable"), text)
    where = tmp_path / "values.yaml"
    where.write_text(json.dumps(changed))
    words = ("template", "memcached", str(ROOT / "charts/memcached"), "--namespace=openstack", f"--values={where}")
    done = helm.__wrapped__(*words, *([] if checked else ["--skip-schema-validation"]))
    assert (done.returncode != 0) == (checked and text != "50%"), done.stderr
    if not done.returncode:
        (budget,) = [each for each in yaml.safe_load_all(done.stdout) if each and each["kind"] == "PodDisruptionBudget"]
        assert budget["spec"]["maxUnavailable"] == text


SHELL = [
    ("ovn", "controller", "conf.bridge_mappings", {"bridge_mappings": ["p:br$(touch x)"]}),
    ("ovn", "controller", "conf.gateways", {"gateways": ['a"\nb: c']}),
    ("openvswitch", "openvswitch", "conf.datapath", {"datapath": "system; touch x"}),
    ("openvswitch", "openvswitch", "conf.tunnel_interface", {"tunnel_interface": "a\nb"}),
    ("openvswitch", "openvswitch", "conf.bridges", {"bridges": [{"bridge": "a b"}]}),
    ("openvswitch", "openvswitch", "conf.bridges", {"bridges": [{"bridge": "a", "interface": "e;x"}]}),
    *(("openvswitch", "openvswitch", "conf.datapath", {"datapath": f"a{sign}b"}) for sign in ";`'|&<>$(){}*?~#!\\"),
]


@pytest.mark.parametrize(
    ("chart", "component", "field", "conf"), SHELL, ids=[f"{field} {conf}" for _, _, field, conf in SHELL]
)
def test_values_of_single_nodes_do_not_become_code_of_a_shell(
    chart: str, component: str, field: str, conf: dict[str, Any], tmp_path: Path
) -> None:
    """Helm checks the schema before the chart merges them."""
    case = next(case for case in CASES if case.parents[1].name == chart)
    values, _ = values_of(case)
    changed = values | {"overrides": {component: {"labels": {"rack::a": {"conf": conf}}}}}
    done = rendered(case, changed, tmp_path / "values.yaml")
    assert done.returncode != 0
    assert f"{field}: only letters, digits and . _ : - are allowed" in done.stderr
    changed["overrides"][component]["labels"]["rack::a"]["conf"] = {}
    assert rendered(case, changed, tmp_path / "values.yaml").returncode == 0
