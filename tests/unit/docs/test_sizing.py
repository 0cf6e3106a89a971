"""The page of sizes: its figures are those of manifests that Helm rendered, and every service is on it."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sizing
import yaml

from stackwright.core.helm.merge import merge
from stackwright.examine.demand import requested
from stackwright.services.registry import SERVICES
from support.paths import ROOT

CHARTS = {chart.name for declared in SERVICES for chart in declared.charts}


def given(case: Path) -> dict[str, Any]:
    return yaml.safe_load((case / "values.yaml").read_text()) or {}


CASES = [
    path
    for path in sorted((ROOT / "tests/golden/charts").glob("*/*"))
    # Other values have other workloads than a cloud of a size.
    if path.parent.name in CHARTS and not given(path).keys() & {"overrides", "trial"}
]
STAYS = ("Deployment", "StatefulSet", "DaemonSet")
Sums = dict[tuple[str, bool], tuple[Decimal, Decimal]]


def sums(parts: list[tuple[str, bool, int, Decimal, Decimal]]) -> Sums:
    """(label of nodes, whether each node has the pods) → requests of CPU and memory of all pods."""
    found: Sums = defaultdict(lambda: (Decimal(0), Decimal(0)))
    for nodes, each, pods, cpu, memory in parts:
        before = found[nodes, each]
        found[nodes, each] = before[0] + pods * cpu, before[1] + pods * memory
    return dict(found)


def rendered(case: Path) -> Sums:
    parts = []
    for obj in yaml.load_all((case / "rendered.yaml").read_bytes(), yaml.CSafeLoader):
        if obj and obj["kind"] in STAYS:
            pod: dict[str, Any] = obj["spec"]["template"]["spec"]
            (nodes,) = [f"{key}={value}" for key, value in pod["nodeSelector"].items()]
            pods = int(obj["spec"].get("replicas", 1))
            parts.append((nodes, obj["kind"] == "DaemonSet", pods, requested(pod, "cpu"), requested(pod, "memory")))
    return sums(parts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_the_figures_are_those_of_the_rendered_manifests(case: Path) -> None:
    values = merge(sizing.chart_defaults(case.parent.name), given(case))
    found = sizing.containers(values)
    assert sums([(e.nodes, e.pods is None, e.pods or 1, e.cpu, e.memory) for e in found]) == rendered(case)


def test_every_service_is_on_the_page() -> None:
    clouds = [sizing.cloud("tiny", *options) for _, *options in sizing.CLOUDS.values()]
    assert {each.chart for one in clouds for each in one} == CHARTS


def test_volumes_grow_with_the_size_and_only_components_with_claims_have_them() -> None:
    found = {size: sizing.cloud(size, "core") for size in sizing.SIZES}
    bases = [[each.volume for each in one if each.chart == "mariadb"] for one in found.values()]
    sizes = [int(volume.removesuffix("Gi")) for (volume,) in bases]
    assert sizes == sorted(set(sizes))
    assert {each.chart for each in found["tiny"] if each.volume} == {"mariadb", "rabbitmq", "glance"}
