"""The guest's disk is taken out of an image's archive, once for each digest."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.image import guest, images
from stackwright.local.image.cache import BuiltImage


def tarball(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def archive(path: Path, *layers: dict[str, bytes] | None) -> Path:
    """Creates an image's archive; a None layer is part of its base."""
    names = [f"layer{number}" for number in range(len(layers))]
    manifest = json.dumps({"layers": [{"digest": f"sha256:{name}"} for name in names]}).encode()
    blobs = {f"blobs/sha256/{n}": tarball(files) for n, files in zip(names, layers, strict=True) if files is not None}
    index = json.dumps({"manifests": [{"digest": "sha256:manifest"}]}).encode()
    path.write_bytes(tarball({"index.json": index, "blobs/sha256/manifest": manifest} | blobs))
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> LocalCluster:
    return LocalCluster(state=tmp_path / "state", cache=tmp_path / "cache")


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Pretend that the image was built, with this disk in it."""

    def make(digest: str, disk: bytes) -> None:
        path = archive(tmp_path / f"{digest}.tar", None, {"guest.qcow2": disk})
        image = BuiltImage("guest", f"stackwright.local/guest:{digest}", path, path, len(disk), "base")
        monkeypatch.setattr(images, "build", lambda name, report=None: image)

    return make


def test_the_disk_is_extracted_once(cluster, build, monkeypatch):
    build("one", b"disk")
    path = guest.guest_image(cluster)
    assert path == cluster.cache / "guest/guest-one.qcow2"
    assert path.read_bytes() == b"disk"
    monkeypatch.setattr(guest, "extract", lambda *_: pytest.fail("taken out again"))
    assert guest.guest_image(cluster) == path


def test_a_new_disk_replaces_the_old_one_and_leaves_nothing_else(cluster, build):
    build("one", b"old")
    guest.guest_image(cluster)
    build("two", b"new")
    path = guest.guest_image(cluster)
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == b"new"


def test_the_highest_layer_that_has_the_file_counts(tmp_path):
    path = archive(tmp_path / "a.tar", {"guest.qcow2": b"low"}, {"./guest.qcow2": b"high"}, {"other": b""})
    guest.extract(path, "guest.qcow2", tmp_path / "disk")
    assert (tmp_path / "disk").read_bytes() == b"high"


def test_an_archive_without_a_disk_is_named(tmp_path):
    path = archive(tmp_path / "a.tar", {"other": b""})
    with pytest.raises(LocalError, match=r"a\.tar does not contain guest\.qcow2"):
        guest.extract(path, "guest.qcow2", tmp_path / "disk")


def test_no_node_gets_the_guest():
    built = [BuiltImage(name, f"x/{name}:1", Path(), Path(), 1) for name in ("base", "guest", "keystone")]
    assert [image.name for image in images.for_nodes(built)] == ["base", "keystone"]
