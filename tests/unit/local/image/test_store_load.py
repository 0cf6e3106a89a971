"""Importing images: only missing ones, and all of a build if the existing ones are of another build."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.image import store


@dataclass(frozen=True)
class Built:
    reference: str
    archive: Path


TYPE = "application/vnd.oci.image.manifest.v1+json"
IMAGES = [Built(f"stackwright.local/{name}:1", Path(f"/images/{name}.tar")) for name in ("base", "python", "operator")]


class Containerd:
    """Takes an archive only when it has the named base of the same build.

    there  name of an image → digest of its manifest
    """

    def __init__(self, there: Iterable[str], *, other_build: bool = False) -> None:
        self.there = {name: manifest(name) for name in there}
        self.fits, self.imported = not other_build, list[str]()

    def __call__(self, cluster: LocalCluster, socket: Path, *words: str) -> str:
        match words:
            case ("images", "list"):
                lines = [f"{name}  {TYPE} {digest} 1.4 MiB linux/amd64 -  \n" for name, digest in self.there.items()]
                return "".join(["REF TYPE DIGEST SIZE PLATFORMS LABELS \n", *lines])
            case ("images", "import", *_, path):
                name = Path(path).stem
                self.fits = self.fits or name == "base"
                if not self.fits:
                    raise LocalError("content digest sha256:56: not found")
                self.imported.append(name)
                self.there[f"stackwright.local/{name}:1"] = manifest(f"stackwright.local/{name}:1")
            case ("content", "get", digest):
                return json.dumps({"mediaType": TYPE, "config": {"digest": config(digest)}})
            case ("images", "tag", name, other):
                self.there[other] = self.there[name]
            case ("images", "remove", "--sync", *names):
                for name in names:
                    del self.there[name]
        return ""


def manifest(name: str) -> str:
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def config(digest: str) -> str:
    return manifest(f"config of {digest}")


def id_of(name: str) -> str:
    return config(manifest(name))


def load(monkeypatch: pytest.MonkeyPatch, containerd: Containerd) -> list[str]:
    monkeypatch.setattr(store, "ctr", containerd)
    return store.load_missing(LocalCluster.discover(), Path("/socket"), IMAGES)


def test_only_missing_images_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    containerd = Containerd({IMAGES[0].reference, IMAGES[1].reference})
    assert load(monkeypatch, containerd) == [IMAGES[2].reference]
    assert containerd.imported == ["operator"]


def test_a_base_of_another_build_brings_all_of_this_build(monkeypatch: pytest.MonkeyPatch) -> None:
    containerd = Containerd({IMAGES[0].reference, IMAGES[1].reference}, other_build=True)
    assert load(monkeypatch, containerd) == [IMAGES[2].reference]
    assert containerd.imported == ["base", "python", "operator"]


def test_kubelet_finds_each_image_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """It mounts an image volume by the id. Images of earlier versions had no such name; they are not imported again."""
    foreign = "docker.io/library/other:1"
    containerd = Containerd({IMAGES[0].reference, foreign})
    monkeypatch.setattr(store, "ctr", containerd)
    cluster, socket = LocalCluster.discover(), Path("/socket")
    assert store.references(cluster, socket) == [], "it is not complete"
    load(monkeypatch, containerd)
    assert containerd.imported == ["python", "operator"]
    references = sorted(image.reference for image in IMAGES)
    assert store.references(cluster, socket) == references
    assert set(containerd.there) == {*references, *map(id_of, references), foreign}
    assert {containerd.there[id_of(each)] for each in references} == {manifest(each) for each in references}


def test_a_new_store_has_no_other_image_under_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = "stackwright.local/operator:0"
    containerd = Containerd({old, IMAGES[0].reference})
    containerd.there |= {id_of(old): manifest(old)}

    class Runtime:
        socket = Path("/socket")

        def __init__(self, *_: Any) -> None: ...

        def __enter__(self) -> Runtime:
            return self

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(store, "ctr", containerd)
    monkeypatch.setattr(store, "Runtime", Runtime)
    store.ensure(LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run"), IMAGES)
    references = {image.reference for image in IMAGES}
    assert set(containerd.there) == references | {id_of(each) for each in references}


def test_another_failure_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(cluster: LocalCluster, socket: Path, *words: str) -> str:
        if words[1] == "import":
            raise LocalError("no space left on device")
        return "REF TYPE DIGEST SIZE PLATFORMS LABELS\n"

    monkeypatch.setattr(store, "ctr", fail)
    with pytest.raises(LocalError, match="no space"):
        store.load_missing(LocalCluster.discover(), Path("/socket"), IMAGES)
