"""The layout for registries: a layer is compressed once, the same archives give the same bytes, kills lose little."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from stackwright.local.commands import LocalError, quiet
from stackwright.local.image.cache import BuiltImage
from stackwright.local.image.published.archived import Archived, Source
from stackwright.local.image.published.layout import Layout
from support.registry.archives import built
from support.registry.memory import digest

Make = Callable[..., BuiltImage]
BASE, NOVA = b"base" * 5000, b"nova" * 5000


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return partial(built, tmp_path)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "published")


@pytest.fixture
def compressed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Digests of the layers that were compressed."""
    found: list[str] = []
    real = Layout._compress

    def noted(self: Layout, layer: str, source: Source) -> object:
        found.append(layer)
        return real(self, layer, source)

    monkeypatch.setattr(Layout, "_compress", noted)
    return found


def contents(layout: Layout) -> dict[str, bytes]:
    files = (path for path in layout.root.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(layout.root)): path.read_bytes() for path in files}


def test_an_image_has_all_layers_compressed_also_those_of_its_base(make: Make, layout: Layout) -> None:
    layout.add([make("base", BASE), make("nova", BASE, NOVA, known=1)], quiet)
    nova = layout.image("nova:1")
    assert nova
    assert [gzip.decompress(layout.path(layer.digest).read_bytes()) for layer in nova.manifest.layers] == [BASE, NOVA]
    assert {layer.media_type for layer in nova.manifest.layers} == {"application/vnd.oci.image.layer.v1.tar+gzip"}


def test_every_blob_has_the_digest_and_size_that_describe_it(make: Make, layout: Layout) -> None:
    layout.add([make("base", BASE)], quiet)
    base = layout.image("base:1")
    assert base
    for blob in base.blobs:
        content = layout.path(blob.digest).read_bytes()
        assert (digest(content), len(content)) == (blob.digest, blob.size)


def test_an_image_has_its_bill_of_materials_as_an_artifact(make: Make, layout: Layout) -> None:
    built_ = make("base", BASE)
    layout.add([built_], quiet)
    base = layout.image("base:1")
    assert base
    manifest = json.loads(layout.path(base.sbom.descriptor.digest).read_bytes())
    assert manifest["artifactType"] == "application/vnd.cyclonedx+json"
    assert manifest["config"]["mediaType"] == "application/vnd.oci.empty.v1+json"
    assert base.descriptor.dump().items() >= manifest["subject"].items()
    assert manifest["subject"]["digest"] == base.descriptor.digest
    (content,) = manifest["layers"]
    assert content["annotations"] == {"org.opencontainers.image.title": "sbom.json"}
    assert layout.path(content["digest"]).read_bytes() == built_.sbom.read_bytes()
    index = json.loads((layout.root / "index.json").read_bytes())["manifests"]
    assert [each.get("artifactType") for each in index] == [None, manifest["artifactType"]]
    layout.path(base.sbom.manifest.layers[0].digest).unlink()
    assert layout.images() == []


def test_a_missing_bill_of_materials_is_damage(make: Make, layout: Layout) -> None:
    base = make("base", BASE)
    base.sbom.unlink()
    with pytest.raises(LocalError, match=r"archive of image base is damaged or missing"):
        layout.add([base], quiet)


def test_a_layer_is_compressed_once(make: Make, layout: Layout, compressed: list[str]) -> None:
    base = make("base", BASE)
    layout.add([base, make("nova", BASE, NOVA, known=1)], quiet)
    layout.add([base, make("glance", BASE, b"glance", known=1)], quiet)
    layout.add([base, make("nova", BASE, NOVA, known=1, tag="2")], quiet)
    assert sorted(compressed) == sorted(digest(content) for content in (BASE, NOVA, b"glance"))


def test_a_layer_of_an_image_that_is_no_longer_named_needs_no_archive_of_the_base(make: Make, layout: Layout) -> None:
    layout.add([make("base", BASE)], quiet)
    layout.add([make("nova", BASE, NOVA, known=1)], quiet)
    assert layout.image("nova:1")


def test_the_same_archives_give_the_same_bytes_in_any_order(make: Make, tmp_path: Path) -> None:
    images = [make("base", BASE), make("nova", BASE, NOVA, known=1), make("etcd", b"etcd")]
    first, second = Layout(tmp_path / "first"), Layout(tmp_path / "second")
    first.add(images, quiet)
    for image in [images[2], images[0], images[1]]:
        second.add([image], quiet)
    assert contents(first) == contents(second)
    before = contents(first)
    first.add(images, quiet)
    assert contents(first) == before


def test_an_image_without_one_of_its_blobs_is_added_again(make: Make, layout: Layout) -> None:
    images = [make("base", BASE), make("nova", BASE, NOVA, known=1)]
    layout.add(images, quiet)
    nova = layout.image("nova:1")
    assert nova
    layout.path(nova.manifest.layers[1].digest).write_bytes(b"short")
    assert layout.image("nova:1") is None
    assert layout.image("base:1")
    layout.add(images, quiet)
    assert layout.image("nova:1") == nova


@pytest.mark.parametrize("number", range(3))
def test_a_process_that_is_killed_at_a_layer_keeps_the_images_before_it(
    make: Make, layout: Layout, monkeypatch: pytest.MonkeyPatch, compressed: list[str], number: int
) -> None:
    images = [make("base", BASE), make("nova", BASE, NOVA, known=1), make("etcd", b"etcd")]
    layers = [digest(content) for content in (BASE, NOVA, b"etcd")]
    real = Layout._compress

    def dies(self: Layout, layer: str, source: Source) -> object:
        if layer == layers[number]:
            raise KeyboardInterrupt
        return real(self, layer, source)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Layout, "_compress", dies)
        layout.add(images, quiet)
    assert [image.title for image in layout.images()] == sorted(["base:1", "nova:1", "etcd:1"][:number])
    (layout.root / ".building-layer-x").mkdir()
    compressed.clear()
    layout.add(images, quiet)
    assert layers[number] in compressed
    assert not set(layers[:number]) & set(compressed)
    assert {image.title for image in layout.images()} == {"base:1", "nova:1", "etcd:1"}
    assert not list(layout.root.glob(".building-*"))


def test_a_damaged_archive_is_named_and_leaves_no_blob(make: Make, layout: Layout) -> None:
    base = make("base", BASE)
    content = base.archive.read_bytes()
    base.archive.write_bytes(content.replace(BASE, b"x" + BASE[1:]))
    with pytest.raises(LocalError, match=r"archive of image base is damaged.*images build base"):
        layout.add([base], quiet)
    assert list(layout.blobs.iterdir()) == []


@pytest.mark.parametrize("size", [0, 100, 700, 5000, -1])
def test_an_archive_that_is_cut_or_removed_is_named(make: Make, layout: Layout, size: int) -> None:
    base = make("base", BASE)
    content = base.archive.read_bytes()
    base.archive.write_bytes(content[:size])
    if size < 0:
        base.archive.unlink()
    with pytest.raises(LocalError, match=r"archive of image base is damaged or missing.*images build base"):
        layout.add([base], quiet)


def test_an_archive_that_is_removed_before_its_layer_is_compressed_is_named(make: Make, layout: Layout) -> None:
    base = make("base", BASE)
    archived = Archived.read(base)
    base.archive.unlink()
    (source,) = archived.sources.values()
    layout.root.mkdir()
    with pytest.raises(LocalError, match=r"archive of image base is damaged or missing"):
        layout._compress(archived.layers[0], source)


@pytest.mark.parametrize("part", ["config", "manifest"])
def test_an_image_with_a_damaged_description_of_the_same_size_is_added_again(
    make: Make, layout: Layout, part: str
) -> None:
    images = [make("base", BASE), make("nova", BASE, NOVA, known=1)]
    layout.add(images, quiet)
    before = contents(layout)
    nova = layout.image("nova:1")
    assert nova
    path = layout.path(nova.manifest.config.digest if part == "config" else nova.descriptor.digest)
    path.write_bytes(path.read_bytes().replace(b"amd64", b"amd6}") if part == "config" else b"x" * nova.descriptor.size)
    assert layout.image("nova:1") is None
    layout.add(images, quiet)
    assert contents(layout) == before


def test_a_failure_ends_the_compression_of_other_layers(
    make: Make, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = 0

    class Slow:
        def compress(self, _: bytes) -> bytes:
            nonlocal pieces
            pieces += 1
            time.sleep(0.02)
            return b""

        flush = bytes

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("stackwright.local.image.published.layout._PIECE", 100)
    monkeypatch.setattr("stackwright.local.image.published.layout.zlib.compressobj", lambda *_: Slow())
    with pytest.raises(KeyboardInterrupt):
        layout.add([make("base", BASE)], interrupt)
    assert pieces < len(BASE) / 100 / 2


def test_an_image_of_another_architecture_is_refused(make: Make, layout: Layout) -> None:
    with pytest.raises(LocalError, match=r"base was built for arm64; .* tested on amd64 only"):
        layout.add([make("base", BASE, architecture="arm64")], quiet)


def test_a_layer_in_no_archive_is_reported(make: Make, layout: Layout) -> None:
    with pytest.raises(LocalError, match=r"is in no archive. Run `stackwright images build`"):
        layout.add([make("nova", BASE, NOVA, known=1)], quiet)


def test_prune_keeps_shared_layers_of_wanted_images_only(make: Make, layout: Layout) -> None:
    layout.add([make("base", BASE), make("nova", BASE, NOVA, known=1), make("etcd", b"etcd")], quiet)
    assert layout.prune(["nova:1"]) == ["base:1", "etcd:1"]
    nova = layout.image("nova:1")
    assert nova
    used = {blob.digest[7:] for blob in nova.blobs}
    assert {path.name for path in layout.blobs.iterdir()} == used


def test_prune_of_no_layout_makes_none(layout: Layout) -> None:
    assert layout.prune([]) == []
    assert not layout.root.exists()


@pytest.mark.parametrize("index", [b"", b"[]", b"{}", b'{"manifests": [{"digest": "sha256:../../etc"}]}'])
def test_an_index_that_is_none_counts_as_empty(make: Make, layout: Layout, index: bytes) -> None:
    base = make("base", BASE)
    layout.add([base], quiet)
    (layout.root / "index.json").write_bytes(index)
    assert layout.images() == []
    layout.add([base], quiet)
    assert layout.image("base:1")
