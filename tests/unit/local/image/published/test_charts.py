"""Charts in a registry: packages for Helm that name its images, pushed once and verified; and the commands."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright import assets
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from stackwright.cli.images.images import app
from stackwright.local.commands import LocalError, quiet
from stackwright.local.image import images
from stackwright.local.image.published import charts, connection
from stackwright.local.image.published.charts import NAMES, Chart, Charts, split
from support.paths import ROOT
from support.registry.memory import HOST, MemoryRegistry, digest

PREFIX = prefix(f"{HOST}/sw")
TITLES = {"operator": "operator:0123456789ab", "keystone": "keystone:123456789abc"}
OPERATOR, PROVISIONER = NAMES


def packaged(name: str = OPERATOR, place: str = str(PREFIX)) -> Chart:
    return Chart.of(name, prefix(place), TITLES)


def files(chart: Chart) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(chart.packed), mode="r:gz") as archive:
        return {each.name: file.read() for each in archive if (file := archive.extractfile(each))}


def published(registry: MemoryRegistry, *made: Chart) -> Charts:
    session = Session(PREFIX, transport=registry.transport(), sleep=lambda _: None)
    return Charts(list(made) or [packaged(name) for name in NAMES], PREFIX, session, quiet)


def states(registry: MemoryRegistry) -> list[str]:
    return [str(each.state) for each in published(registry).verify()]


# ---- packages


@pytest.mark.parametrize("name", NAMES)
def test_a_package_has_all_files_of_the_chart_and_its_library(name: str) -> None:
    found, folder = files(packaged(name)), ROOT / name
    own = {f"{folder.name}/{path.relative_to(folder)}" for path in folder.rglob("*") if path.is_file()}
    assert found.keys() >= own
    library = f"{folder.name}/charts/stackwright-lib"
    assert found[f"{library}/Chart.yaml"] == (ROOT / "charts/lib/Chart.yaml").read_bytes()
    assert all(path.startswith(f"{library}/") for path in found.keys() - own)
    changed = {path for path in own if found[path] != (folder.parent / path).read_bytes()}
    assert changed == {f"{folder.name}/values.yaml"}


def test_its_values_name_the_images_of_the_registry_and_keep_their_comments() -> None:
    text = files(packaged())["stackwright/values.yaml"].decode()
    values = yaml.safe_load(text)
    before = yaml.safe_load((ROOT / OPERATOR / "values.yaml").read_text())
    given = {"registry": f"{HOST}/sw", "tags": {"stackwright": TITLES["operator"]}, "references": TITLES}
    assert values == {**before, "images": {**before["images"], **given}}
    assert text.count("# -- ") == (ROOT / OPERATOR / "values.yaml").read_text().count("# -- ")
    (made,) = (
        yaml.safe_load(text) for path, text in files(packaged(PROVISIONER)).items() if path.endswith("r/values.yaml")
    )
    assert made["images"]["registry"] == f"{HOST}/sw"
    assert made["images"]["tags"] == {"stackwright": TITLES["operator"]}


def test_values_that_a_package_cannot_set_are_an_error() -> None:
    with pytest.raises(ValueError, match="other values than the chart"):
        charts._values("images:\n    registry: null\n", "r", TITLES)


def test_equal_charts_give_equal_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a wheel, where files have other times and modes, and the library is a copy."""
    first = packaged()
    for name, path in charts.chart_files(ROOT / OPERATOR):
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o600)
        os.utime(copy, (1, 1))
    monkeypatch.setattr(assets, "require", lambda name: tmp_path)
    assert packaged() == first
    with tarfile.open(fileobj=io.BytesIO(first.packed), mode="r:gz") as archive:
        members = archive.getmembers()
    assert {(each.mtime, each.uid, each.gid, each.mode, each.uname) for each in members} == {(0, 0, 0, 0o644, "")}
    assert [each.name for each in members] == sorted(each.name for each in members)
    assert first.packed[4:8] == bytes(4), "no time in the header of gzip"
    assert packaged(place=f"{HOST}/other").packed != first.packed


def test_a_version_with_a_plus_is_a_tag_as_helm_writes_it() -> None:
    assert Chart("charts/x", "1.2.3+4", b"", b"", b"").tag == "1.2.3_4"


# ---- the registry


def test_the_registry_has_what_helm_pulls() -> None:
    registry = MemoryRegistry()
    done = published(registry).push()
    assert [each.reference for each in done] == [f"{HOST}/sw/{name}:0.1.0" for name in NAMES]
    assert all(each.new for each in done)
    content = registry.manifests["sw/charts/stackwright", "0.1.0"]
    assert done[0].digest == digest(content)
    manifest = json.loads(content)
    assert manifest["config"]["mediaType"] == "application/vnd.cncf.helm.config.v1+json"
    (layer,) = manifest["layers"]
    assert layer["mediaType"] == "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    stored = registry.blobs["sw/charts/stackwright"]
    assert json.loads(stored[manifest["config"]["digest"]]) == yaml.safe_load(
        (ROOT / OPERATOR / "Chart.yaml").read_text()
    )
    assert stored[layer["digest"]] == packaged().packed
    assert sum(each.sent for each in done) == registry.received


def test_a_second_push_only_asks() -> None:
    registry = MemoryRegistry()
    first = published(registry).push()
    registry.methods()
    second = published(registry).push()
    assert set(registry.methods()) == {"HEAD"}
    assert [each.digest for each in second] == [each.digest for each in first]
    assert not any(each.new or each.sent for each in second)


def test_what_the_registry_lost_is_sent_again() -> None:
    registry = MemoryRegistry()
    published(registry).push()
    assert states(registry) == ["ok", "ok"]
    chart = packaged()
    del registry.blobs["sw/charts/stackwright"][digest(chart.packed)]
    del registry.manifests["sw/charts/local-volume-provisioner", "0.1.0"]
    assert states(registry) == ["incomplete", "missing"]
    again = published(registry).push()
    assert [(each.new, each.sent) for each in again] == [(True, len(chart.packed)), (True, 0)]
    assert states(registry) == ["ok", "ok"]


def test_another_content_differs_and_another_compression_does_not() -> None:
    registry, chart = MemoryRegistry(), packaged()
    other = Chart(chart.name, chart.version, chart.config, chart.plain, gzip.compress(chart.plain, 1))
    assert other.packed != chart.packed
    published(registry, other).push()
    assert published(registry, chart).verify()[0].state == "ok"
    longer = chart.plain + bytes(512)
    for packed in (gzip.compress(longer), gzip.compress(chart.plain[:-1]), zlib.compress(chart.plain), b"none"):
        published(registry, Chart(chart.name, chart.version, chart.config, chart.plain, packed)).push()
        assert published(registry, chart).verify()[0].state == "differs"
    published(registry, Chart(chart.name, chart.version, b"{}", chart.plain, chart.packed)).push()
    assert published(registry, chart).verify()[0].state == "differs"
    large = bytes((1 << 20) + 1)
    published(registry, Chart(chart.name, chart.version, chart.config, chart.plain, large)).push()
    assert [each.state for each in published(registry).verify()] == ["differs", "missing"]
    for text in (b"{}", b'{"manifests": []}', large):
        registry.manifests["sw/charts/stackwright", "0.1.0"] = text
        assert published(registry, chart).verify()[0].state == "differs"


# ---- the commands


def test_names_choose_images_and_charts() -> None:
    assert split(None, charts=True) == (None, list(NAMES))
    assert split([], charts=False) == (None, [])
    assert split(["keystone"], charts=True) == (["keystone"], [])
    assert split([PROVISIONER, "keystone"], charts=True) == (["keystone"], [PROVISIONER])
    assert split([OPERATOR], charts=True) == ([], [OPERATOR])
    with pytest.raises(
        LocalError, match=r"^charts/nova: no such chart; the charts of registries are charts/stackwright "
    ):
        split(["charts/nova"], charts=True)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryRegistry:
    """The registry of the commands, in a version without images."""
    made = MemoryRegistry()
    monkeypatch.setattr(connection, "Session", partial(Session, transport=made.transport(), sleep=lambda _: None))
    monkeypatch.setattr(images, "complete", lambda names, report: [])
    monkeypatch.setattr(images, "wanted", lambda names, place: [])
    monkeypatch.setattr(images, "titles", lambda: TITLES)
    monkeypatch.setattr(images, "references", lambda place: {})
    for name in ("STACKWRIGHT_CACHE", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)
    return made


def call(verb: str, *words: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, [verb, f"{HOST}/sw", *words])
    assert done.exit_code == code, done.output
    return done


def test_charts_are_pushed_with_the_images_and_verified(registry: MemoryRegistry) -> None:
    missing = call("verify", code=1)
    words = f"Push them: stackwright images push {HOST}/sw charts/stackwright charts/local-volume-provisioner\n"
    assert missing.stderr == f"2 of 2 images and charts are missing, incomplete, damaged or different. {words}"
    assert "✓ Push charts to registry.test/sw" in call("push").output
    assert {repository for repository, _ in registry.manifests} == {f"sw/{name}" for name in NAMES}
    found = json.loads(call("verify", "-o", "json").stdout)
    assert [(each["name"], each["state"]) for each in found] == [(name, "ok") for name in NAMES]


def test_no_charts_are_pushed_or_verified_if_asked(registry: MemoryRegistry) -> None:
    assert json.loads(call("push", "--no-charts", "-o", "json").stdout) == []
    assert json.loads(call("verify", "--no-charts", "-o", "json").stdout) == []
    assert not registry.requests


def test_a_named_chart_is_pushed_without_images(registry: MemoryRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "complete", lambda names, report: pytest.fail("no image is named"))
    (found,) = json.loads(call("push", PROVISIONER, "-o", "json").stdout)
    assert (found["name"], found["new"], found["sbom"]) == (PROVISIONER, True, None)
    assert "no such chart" in call("push", "charts/nova", code=1).stderr
