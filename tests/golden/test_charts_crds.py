"""The kinds in the operator's chart: those of the models, kept when a release is uninstalled, and no templates."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from stackwright.api.crd import crd
from stackwright.cloud.registry import RESOURCES
from support.paths import ROOT
from tests.golden.test_charts import helm

CHART = ROOT / "charts/stackwright"


def rendered(chart: Path, *words: str) -> list[dict[str, Any]]:
    done = helm("template", "stackwright", str(chart), "--set=images.tags.stackwright=x", *words)
    assert done.returncode == 0, done.stderr
    return [obj for obj in yaml.load_all(done.stdout, yaml.CSafeLoader) if obj]


def test_the_kinds_are_those_of_the_models_and_outlive_a_release() -> None:
    found = {obj["metadata"]["name"]: obj for obj in rendered(CHART, "--show-only=templates/crds.yaml")}
    expected = {each["metadata"]["name"]: each for each in map(crd, RESOURCES)}
    for obj in expected.values():
        obj["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    assert found == expected


def test_no_kinds_are_installed_if_asked() -> None:
    found = {obj["kind"] for obj in rendered(CHART, "--set=crds.install=false")}
    assert "CustomResourceDefinition" not in found
    assert "Deployment" in found


def test_a_text_of_a_kind_is_no_template(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    path = next((chart / "files/crds").glob("*.yaml"))
    kind = yaml.safe_load(path.read_text())
    kind["metadata"]["annotations"] = {"own": '{{ fail "a template" }}'}
    path.write_text(yaml.safe_dump(kind))
    found = {obj["metadata"]["name"]: obj for obj in rendered(chart, "--show-only=templates/crds.yaml")}
    annotations = found[kind["metadata"]["name"]]["metadata"]["annotations"]
    assert annotations == {"own": '{{ fail "a template" }}', "helm.sh/resource-policy": "keep"}
