"""Importing images: only missing ones, and all of a build if the existing ones are of another build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.image import store


@dataclass(frozen=True)
class Built:
    reference: str
    archive: Path


IMAGES = [Built(f"stackwright.local/{name}:1", Path(f"/images/{name}.tar")) for name in ("base", "python", "operator")]


class Containerd:
    """Takes an archive only when it has the named base of the same build."""

    def __init__(self, there: set[str], *, other_build: bool) -> None:
        self.there, self.fits, self.imported = there, not other_build, []

    def __call__(self, cluster: LocalCluster, socket: Path, *words: str) -> str:
        if words[:2] == ("images", "list"):
            return "\n".join(sorted(self.there))
        if words[:2] == ("images", "import"):
            name = Path(words[-1]).stem
            self.fits = self.fits or name == "base"
            if not self.fits:
                raise LocalError("content digest sha256:56: not found")
            self.imported.append(name)
            self.there.add(f"stackwright.local/{name}:1")
        return ""


def load(monkeypatch: pytest.MonkeyPatch, containerd: Containerd) -> list[str]:
    monkeypatch.setattr(store, "ctr", containerd)
    return store.load_missing(LocalCluster.discover(), Path("/socket"), IMAGES)


def test_only_missing_images_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    containerd = Containerd({IMAGES[0].reference, IMAGES[1].reference}, other_build=False)
    assert load(monkeypatch, containerd) == [IMAGES[2].reference]
    assert containerd.imported == ["operator"]


def test_a_base_of_another_build_brings_all_of_this_build(monkeypatch: pytest.MonkeyPatch) -> None:
    containerd = Containerd({IMAGES[0].reference, IMAGES[1].reference}, other_build=True)
    assert load(monkeypatch, containerd) == [IMAGES[2].reference]
    assert containerd.imported == ["base", "python", "operator"]


def test_another_failure_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(cluster: LocalCluster, socket: Path, *words: str) -> str:
        if words[1] == "import":
            raise LocalError("no space left on device")
        return ""

    monkeypatch.setattr(store, "ctr", fail)
    with pytest.raises(LocalError, match="no space"):
        store.load_missing(LocalCluster.discover(), Path("/socket"), IMAGES)
