"""Charts as a registry has them: they need no values, and their images are those of the registry or of a mirror."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.adapters.registry.reference import prefix
from stackwright.local.image.published.charts import NAMES, Chart
from tests.golden.test_charts import helm

TITLES = {"operator": "operator:0123456789ab", "keystone": "keystone:123456789abc"}
REGISTRY = "registry.example.org/sw"


@pytest.fixture(scope="module", params=NAMES)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packages") / f"{request.param.replace('/', '-')}.tgz"
    path.write_bytes(Chart.of(request.param, prefix(REGISTRY), TITLES).packed)
    return path


def rendered(package: Path, *words: str) -> list[dict[str, Any]]:
    done = helm("template", "x", str(package), *words)
    assert done.returncode == 0, done.stderr
    return [obj for obj in yaml.load_all(done.stdout, yaml.CSafeLoader) if obj]


def images(objects: list[dict[str, Any]]) -> list[Any]:
    """Images of containers, and the references that the operator reads."""
    pods = [obj["spec"]["template"]["spec"] for obj in objects if obj["kind"] in ("Deployment", "DaemonSet")]
    files = [obj["data"]["images.json"] for obj in objects if obj["kind"] == "ConfigMap"]
    return [*(each["image"] for pod in pods for each in pod["containers"]), *(json.loads(text) for text in files)]


def test_a_package_runs_the_images_of_its_registry(package: Path) -> None:
    first, *references = images(rendered(package))
    assert first == f"{REGISTRY}/operator:0123456789ab"
    assert references in ([], [{name: f"{REGISTRY}/{title}" for name, title in TITLES.items()}])


def test_a_mirror_and_a_complete_reference_replace_them(package: Path) -> None:
    mirrored = images(rendered(package, "--set=images.registry=mirror.example.org/x"))
    assert mirrored[0] == "mirror.example.org/x/operator:0123456789ab"
    assert all(each["keystone"] == "mirror.example.org/x/keystone:123456789abc" for each in mirrored[1:])
    assert images(rendered(package, "--set=images.tags.stackwright=other.org/o:1"))[0] == "other.org/o:1"


@pytest.mark.parametrize("wrong", ["a.org/b/", "/b", "a b", ""])
def test_a_registry_with_a_slash_at_an_end_is_refused(package: Path, wrong: str) -> None:
    done = helm("template", "x", str(package), f"--set-string=images.registry={wrong}")
    assert done.returncode != 0
    assert "/images/registry" in done.stderr
