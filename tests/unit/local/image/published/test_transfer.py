"""Complete images in a file: what is written is read again; anything else changes nothing."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.cli.images.images import app
from stackwright.local.commands import LocalError, quiet
from stackwright.local.image import images
from stackwright.local.image.published import layers, oci, tar, transfer
from stackwright.local.image.published.layout import Layout
from stackwright.local.image.published.oci import CompleteImage
from stackwright.local.image.published.transfer import Transferred
from support.registry.archives import built
from support.registry.memory import digest

BASE, NOVA, ETCD = (name * 5000 for name in (b"base", b"nova", b"etcd"))
PLAIN = b"a layer"
PACKED = gzip.compress(PLAIN, mtime=0)
TITLES = ["base:1", "etcd:1", "nova:1"]
Files = dict[str, bytes]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Two images share a layer; one has nothing in common with them."""
    made = Layout(tmp_path / "published")
    found = [built(tmp_path, "base", BASE), built(tmp_path, "nova", BASE, NOVA, known=1)]
    made.add([*found, built(tmp_path, "etcd", ETCD)], quiet)
    return made


@pytest.fixture
def other(tmp_path: Path) -> Layout:
    """The layout of another site, with an image of its own."""
    made = Layout(tmp_path / "other/published")
    made.add([built(tmp_path / "other", "pause", b"pause")], quiet)
    return made


@pytest.fixture
def file(layout: Layout, tmp_path: Path) -> Path:
    transfer.export(layout, layout.images(), tmp_path / "images.tar", quiet)
    return tmp_path / "images.tar"


def contents(layout: Layout) -> Files:
    files = (path for path in layout.root.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(layout.root)): path.read_bytes() for path in files}


def read(layout: Layout, file: Path, report: Callable[[str], None] = quiet) -> list[Transferred]:
    return transfer.read(layout, file, {*TITLES, "pause:1"}, report)


# ---- export


def test_an_import_has_what_was_exported(layout: Layout, other: Layout, file: Path) -> None:
    (pause,) = other.images()
    done = read(other, file)
    assert [each.reference for each in done] == [f"stackwright.local/{title}" for title in TITLES]
    assert all(each.new for each in done)
    assert sorted(other.images(), key=lambda image: image.title) == sorted(
        [*layout.images(), pause], key=lambda image: image.title
    )
    assert contents(other).items() >= {(name, text) for name, text in contents(layout).items() if "blobs" in name}
    (base, *_) = done
    assert base.size == sum(blob.size for blob in layout.images()[0].blobs)


def test_the_file_is_a_layout_in_which_shared_layers_are_once(layout: Layout, file: Path) -> None:
    with tarfile.open(file) as archive:
        found = {member.name: archive.extractfile(member) for member in archive}
        assert {name: content.read() for name, content in found.items() if content} == contents(layout)


def test_the_same_images_give_the_same_file(layout: Layout, tmp_path: Path, file: Path) -> None:
    before = file.read_bytes()
    transfer.export(layout, reversed(layout.images()), file, quiet)
    assert file.read_bytes() == before


def test_only_wanted_images_are_exported(layout: Layout, other: Layout, tmp_path: Path) -> None:
    wanted = [image for image in layout.images() if image.title == "etcd:1"]
    (done,) = transfer.export(layout, wanted, tmp_path / "etcd.tar", quiet)
    assert (done.name, done.digest) == ("etcd", wanted[0].descriptor.digest)
    assert [each.name for each in read(other, tmp_path / "etcd.tar")] == ["etcd"]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.write_bytes(b"x" * path.stat().st_size), "is damaged. Remove it and run"),
        (lambda path: path.write_bytes(b"x"), "is damaged. Remove it and run"),
        (lambda path: path.unlink(), "cannot be read: No such file"),
    ],
    ids=["damaged", "cut", "removed"],
)
def test_a_layer_that_is_damaged_is_named_and_the_file_stays(
    layout: Layout, file: Path, damage: Callable[[Path], object], words: str
) -> None:
    found, before = layout.images(), file.read_bytes()
    path = layout.path(found[0].manifest.layers[0].digest)
    damage(path)
    with pytest.raises(LocalError, match=rf"{path} {words}"):
        transfer.export(layout, found, file, quiet)
    assert file.read_bytes() == before
    assert not list(file.parent.glob(".images.tar*"))


def test_an_interrupted_export_leaves_nothing(layout: Layout, tmp_path: Path) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        transfer.export(layout, layout.images(), tmp_path / "new.tar", interrupt)
    assert not list(tmp_path.glob("*new.tar*"))


@pytest.mark.parametrize("place", ["none/images.tar", "published"])
def test_a_place_that_cannot_be_written_is_named(layout: Layout, tmp_path: Path, place: str) -> None:
    with pytest.raises(LocalError, match=f"{tmp_path / place} cannot be written: "):
        transfer.export(layout, layout.images(), tmp_path / place, quiet)
    assert not list(tmp_path.glob(".*.part"))


def test_an_export_opens_no_file_of_others(
    layout: Layout, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder in which others may write, they prepare links with the names that they expect."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".images.tar-{os.getpid()}.part").symlink_to(victim)
    (tmp_path / ".images.tar-known.part").symlink_to(victim)
    transfer.export(layout, layout.images(), file, quiet)
    assert not file.is_symlink()
    before = file.read_bytes()
    monkeypatch.setattr("secrets.token_hex", lambda _: "known")
    with pytest.raises(LocalError, match=f"{file} cannot be written: File exists"):
        transfer.export(layout, layout.images(), file, quiet)
    assert (file.read_bytes(), victim.read_text()) == (before, "precious")
    assert (tmp_path / ".images.tar-known.part").is_symlink()


@pytest.mark.parametrize("mask", [0o077, 0o022])
def test_the_mode_of_the_file_is_that_of_other_new_files(layout: Layout, tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        transfer.export(layout, [], tmp_path / "new.tar", quiet)
    finally:
        os.umask(before)
    assert (tmp_path / "new.tar").stat().st_mode & 0o777 == 0o666 & ~mask


SPECIAL: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "link": lambda path: path.symlink_to("/dev/null"),
    "link to a file": lambda path: path.symlink_to(__file__),
    "link to nothing": lambda path: path.symlink_to("nothing"),
}


@pytest.mark.parametrize("create", SPECIAL.values(), ids=SPECIAL)
def test_only_a_regular_file_is_replaced(layout: Layout, tmp_path: Path, create: Callable[[Path], object]) -> None:
    path = tmp_path / "special"
    create(path)
    before = path.lstat()
    with pytest.raises(LocalError, match=f"{path} cannot be written: it exists and is not a regular file"):
        transfer.export(layout, layout.images(), path, quiet)
    assert path.lstat() == before


def test_the_progress_ends_at_the_total(
    layout: Layout, other: Layout, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "_MEGABYTE", 1)
    total = sum(oci.sizes(layout.images()).values())
    for run in (
        lambda report: transfer.export(layout, layout.images(), file, report),
        lambda report: read(other, file, report),
        lambda report: read(other, file, report),
    ):
        said: list[str] = []
        run(said.append)
        done = [int(text.split()[0]) for text in said]
        assert done == sorted(done)
        assert said[-1] == f"{total} of {total} MB"


# ---- files that are refused


def packed(path: Path, files: Files) -> Path:
    with path.open("wb") as made, tar.writing(made) as archive:
        for name, content in files.items():
            tar.add(archive, name, len(content), io.BytesIO(content))
    return path


def image(
    title: str = "nova:1",
    *,
    layer: bytes = PACKED,
    config: Any = None,
    manifest: dict[str, Any] | None = None,
    described: dict[str, Any] | None = None,
    sbom: dict[str, Any] | None = None,
) -> Files:
    """A file with one image that has one layer and a bill, with changes to its parts, whose digests fit."""
    standard = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest(PLAIN)]}}
    content = config if isinstance(config, bytes) else json.dumps(standard | (config or {})).encode()
    whole = {
        "config": {"mediaType": oci.CONFIG, "digest": digest(content), "size": len(content)},
        "layers": [{"mediaType": oci.LAYER, "digest": digest(layer), "size": len(layer)}],
    }
    text = json.dumps(whole | (manifest or {})).encode()
    descriptor = {"mediaType": oci.MANIFEST, "digest": digest(text), "size": len(text)} | (described or {})
    bill = b'{"bomFormat": "CycloneDX"}'
    artifact = {
        "config": {"mediaType": oci.EMPTY, "digest": digest(b"{}"), "size": 2},
        "layers": [{"mediaType": oci.SBOM, "digest": digest(bill), "size": len(bill)}],
        "subject": descriptor,
    }
    written = json.dumps(artifact | (sbom or {})).encode()
    listed = {"mediaType": oci.MANIFEST, "digest": digest(written), "size": len(written), "artifactType": oci.SBOM}
    index = {"manifests": [descriptor | {"annotations": {oci.NAME: title}}, listed]}
    blobs = {oci.path_of(digest(each)): each for each in (content, layer, text, b"{}", bill, written)}
    return {"oci-layout": oci.VERSION, "index.json": json.dumps(index).encode(), **blobs}


def layer_of(digest_: str = digest(PACKED), size: int = len(PACKED)) -> dict[str, Any]:
    return {"layers": [{"mediaType": oci.LAYER, "digest": digest_, "size": size}]}


LAYER = oci.path_of(digest(PACKED))
INDEX = json.loads(image()["index.json"])
REFUSED: dict[str, tuple[Files, str]] = {
    "a digest of a layer": (image() | {LAYER: PACKED.swapcase()}, f"{LAYER} has another digest"),
    "a digest of a configuration": (
        {name: text.replace(b"amd64", b"amd65") for name, text in image().items()},
        "has another digest",
    ),
    "a digest of a manifest": (
        {name: text.replace(b"tar+gzip", b"tar+gzyp") for name, text in image().items()},
        "has another digest",
    ),
    "a size of a layer": (image(manifest=layer_of(size=len(PACKED) + 1)), f"{LAYER} has another size"),
    "a size of a manifest": (image(described={"size": 1}), "has another size"),
    "a size below zero": (image(manifest=layer_of(size=-1)), "a manifest is not valid"),
    "a path as a digest": (image(manifest=layer_of("sha256:../../../etc/passwd")), "a manifest is not valid"),
    "a path as the digest of a manifest": (image(described={"digest": "sha256:../x"}), "index.json is not valid"),
    "an unknown blob": (image() | {oci.path_of(digest(b"x")): b"x"}, "belongs to no image"),
    "a missing blob": ({name: text for name, text in image().items() if name != LAYER}, f"{LAYER} is missing"),
    "no index": ({name: text for name, text in image().items() if name != "index.json"}, "index.json is missing"),
    "no layout": ({name: text for name, text in image().items() if name != "oci-layout"}, "oci-layout is missing"),
    "another layout": (image() | {"oci-layout": b'{"imageLayoutVersion": "2"}'}, "another version of the OCI"),
    "an index that is none": (image() | {"index.json": b"[]"}, "index.json is not valid"),
    "a large index": (image() | {"index.json": b" " * (1 << 20) + image()["index.json"]}, "index.json is too large"),
    "no bill": (image() | {"index.json": json.dumps({"manifests": INDEX["manifests"][:1]}).encode()}, "with a bill of"),
    "a bill of another image": (
        image(sbom={"subject": {"mediaType": oci.MANIFEST, "digest": digest(b"x"), "size": 1}}),
        "no image with a bill of materials",
    ),
    "a bill of none": (image(sbom={"subject": None}), "no image with a bill of materials"),
    "a missing bill": (image(sbom=layer_of(digest(b"none"))), f"{oci.path_of(digest(b'none'))} is missing"),
    "no image": ({"oci-layout": oci.VERSION, "index.json": b'{"manifests": []}'}, "it has no image"),
    "an image twice": (
        image() | {"index.json": json.dumps({"manifests": INDEX["manifests"] * 2}).encode()},
        "it has the image nova:1 twice",
    ),
    "a manifest of another type": (image(described={"mediaType": oci.INDEX}), "a manifest is of the type .*index"),
    "a manifest that is none": (image(manifest={"layers": None}), "a manifest is not valid"),
    "a configuration that is none": (image(config=b"[" * 100_000), "configuration of nova:1 is not valid"),
    "a configuration without layers": (image(config={"rootfs": {}}), "configuration of nova:1 is not valid"),
    "other layers": (image(config={"rootfs": {"diff_ids": []}}), "configuration of nova:1 is not valid"),
    "layers that are none": (image(config={"rootfs": {"diff_ids": [{}]}}), "configuration of nova:1 is not valid"),
    "layers of a mapping": (
        image(config={"rootfs": {"diff_ids": {digest(PLAIN): 1}}}),
        "configuration of nova:1 is not",
    ),
    "another system": (image(config={"os": "windows"}), "configuration of nova:1 is not valid"),
    "another content": (image(layer=gzip.compress(b"evil", mtime=0)), "has another content than its image names"),
    "two contents": (image(layer=PACKED + gzip.compress(b"evil", mtime=0)), "has another content than its image names"),
    "a layer that is not compressed": (image(layer=PLAIN), "is not compressed by gzip, or damaged"),
    "a layer that is cut": (image(layer=PACKED[:-1]), "is not compressed by gzip, or damaged"),
    "a layer with a wrong sum": (image(layer=PACKED[:-8] + b"x" * 8), "is not compressed by gzip, or damaged"),
    "a layer with more behind it": (image(layer=PACKED + b"x"), "is not compressed by gzip, or damaged"),
    "a layer that does not unpack": (image(layer=PACKED[:10] + b"\xff" * 20), "is not compressed by gzip, or damaged"),
    "a layer of another type": (
        image(manifest={"layers": [layer_of()["layers"][0] | {"mediaType": f"{oci.LAYER[:-4]}zstd"}]}),
        "a layer is of the type .*zstd",
    ),
    "another architecture": (image(config={"architecture": "arm64"}), "nova was built for arm64; .* amd64 only"),
    "a long architecture": (image(config={"architecture": "x" * 900_000}), "nova was built for x{80}; "),
    "more artifacts than images": (
        image() | {"index.json": json.dumps({"manifests": [*INDEX["manifests"], INDEX["manifests"][1]]}).encode()},
        "its index names more than its images",
    ),
    "another version": (
        image("nova:2"),
        "has images of another version of Stackwright, such as nova:2. Import it with",
    ),
    "no name": (image(""), "has images of another version"),
    "a path as a name": (image("../../nova:1"), "has images of another version"),
}


@pytest.mark.parametrize(("files", "words"), REFUSED.values(), ids=REFUSED)
def test_any_other_file_changes_nothing(other: Layout, tmp_path: Path, files: Files, words: str) -> None:
    before = contents(other)
    path = packed(tmp_path / "bad.tar", files)
    with pytest.raises(LocalError, match=words) as caught:
        read(other, path)
    assert len(str(caught.value)) < 400
    assert contents(other) == before
    assert not list(other.root.glob(".building-*"))


def test_the_smallest_file_is_accepted(other: Layout, tmp_path: Path) -> None:
    """The refused ones differ from it."""
    assert [each.name for each in read(other, packed(tmp_path / "good.tar", image()))] == ["nova"]


def test_a_layer_with_another_content_never_serves_for_an_image_that_is_built_here(tmp_path: Path) -> None:
    site, evil = Layout(tmp_path / "site"), image("nova:1", layer=gzip.compress(b"evil", mtime=0))
    (tmp_path / "site/blobs/sha256").mkdir(parents=True)
    for _ in range(2):
        with pytest.raises(LocalError, match="has another content than its image names"):
            read(site, packed(tmp_path / "evil.tar", evil))
        # an import that was killed may have left the layer
        site.path(digest(gzip.compress(b"evil", mtime=0))).write_bytes(gzip.compress(b"evil", mtime=0))
    site.add([built(tmp_path, "base", PLAIN)], quiet)
    (base,) = site.images()
    assert gzip.decompress(site.path(base.manifest.layers[0].digest).read_bytes()) == PLAIN


def test_layers_that_unpack_to_too_much_are_refused(
    other: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may have very large layers, whose unpacking takes hours."""
    monkeypatch.setattr(layers, "_MOST", 1000)
    monkeypatch.setattr(layers, "_PIECE", 100)
    large = b"0" * 1001
    config = {"rootfs": {"diff_ids": [digest(large)]}}
    with pytest.raises(LocalError, match="its layers are too large when they are unpacked"):
        read(other, packed(tmp_path / "bad.tar", image(layer=gzip.compress(large), config=config)))


def test_the_content_of_layers_is_compared_once(other: Layout, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read(other, file)
    monkeypatch.setattr(layers.Contents, "_unpacked", None)
    read(other, file)


def test_an_index_that_names_a_large_manifest_often_is_refused_fast(other: Layout, tmp_path: Path) -> None:
    files = image(manifest={"layers": layer_of()["layers"] * 6000})
    listed = json.loads(files["index.json"])["manifests"]
    files["index.json"] = json.dumps({"manifests": listed[:1] * 2500 + listed[1:]}).encode()
    start = time.monotonic()
    with pytest.raises(LocalError, match="it has the image nova:1 twice"):
        read(other, packed(tmp_path / "bad.tar", files))
    assert time.monotonic() - start < 20


def test_names_are_checked_before_manifests_are_read(
    other: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index may name thousands of manifests of 1 MiB, which take several times as much memory."""
    monkeypatch.setattr(transfer._Content, "_manifest", None)
    for title in ("nova:2", ""):
        with pytest.raises(LocalError, match="has images of another version"):
            read(other, packed(tmp_path / "bad.tar", image(title)))


def test_a_long_name_is_shortened_in_the_message(other: Layout, tmp_path: Path) -> None:
    with pytest.raises(LocalError) as caught:
        read(other, packed(tmp_path / "bad.tar", image("x" * 100_000)))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("create", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_only_a_regular_file_is_read(other: Layout, tmp_path: Path, create: Callable[[Path], None]) -> None:
    path = tmp_path / "special"
    with pytest.raises(LocalError, match=f"{path} cannot be read: No such file or directory"):
        read(other, path)
    create(path)
    with pytest.raises(LocalError, match=f"{path} is not a regular file"):
        read(other, path)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blocked").touch()
    with pytest.raises(LocalError, match=f"{file} cannot be imported into {tmp_path}/blocked: File exists"):
        read(Layout(tmp_path / "blocked"), file)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(transfer._Content, "_copy", full)
    with pytest.raises(LocalError, match="site: No space left on device"):
        read(Layout(tmp_path / "site"), file)


def test_a_file_that_is_cut_is_refused_at_every_block(other: Layout, tmp_path: Path, file: Path) -> None:
    content = file.read_bytes()
    for length in range(0, len(content.rstrip(b"\0")), 512):
        file.write_bytes(content[:length])
        with pytest.raises(LocalError, match="is no complete file of `stackwright images export`"):
            read(other, file)
    assert [image.title for image in other.images()] == ["pause:1"]


# ---- interruptions


def test_an_import_that_is_killed_at_any_blob_continues(
    layout: Layout, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images appear together, at the end; blobs that were copied are not copied again."""
    copy = transfer._Content._copy
    blobs = len(oci.sizes(layout.images()))
    for number in range(blobs):
        site = Layout(tmp_path / f"site-{number}")
        left, copied = number, 0

        def dies(self: Any, *words: Any) -> None:
            nonlocal left
            left -= 1
            copy(self, *words)  # the file is written, but not yet at its place
            if left < 0:
                raise KeyboardInterrupt

        def counted(self: Any, *words: Any) -> None:
            nonlocal copied
            copied += 1
            copy(self, *words)

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(transfer._Content, "_copy", dies)
            read(site, file)
        assert site.images() == []
        assert len(list(site.blobs.iterdir())) == number
        with monkeypatch.context() as patched:
            patched.setattr(transfer._Content, "_copy", counted)
            assert all(each.new for each in read(site, file))
        assert copied == blobs - number
        assert contents(site) == contents(layout)


def test_an_import_that_is_killed_before_the_index_continues(
    layout: Layout, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Layout(tmp_path / "site")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Layout, "publish", dies)
        read(site, file)
    assert site.images() == []
    monkeypatch.setattr(transfer._Content, "_copy", dies)
    read(site, file)
    assert contents(site) == contents(layout)


def test_a_second_import_changes_nothing(other: Layout, file: Path) -> None:
    read(other, file)
    before = contents(other)
    assert not any(each.new for each in read(other, file))
    assert contents(other) == before


def test_a_damaged_blob_is_replaced(layout: Layout, other: Layout, file: Path) -> None:
    """Also one of the same size, which only its digest shows."""
    read(other, file)
    before = contents(other)
    for blob in oci.sizes(layout.images()):
        path = other.path(blob)
        path.write_bytes(b"x" * path.stat().st_size)
    read(other, file)
    assert contents(other) == before


def test_an_image_with_other_content_is_replaced(other: Layout, tmp_path: Path, file: Path) -> None:
    """Two machines that build one recipe may get other packages."""
    read(other, file)
    (done,) = read(other, packed(tmp_path / "new.tar", image()))
    nova = other.image("nova:1")
    assert done.new
    assert nova
    assert nova.descriptor.digest == done.digest
    assert len(other.images()) == 4


def test_an_import_waits_for_another_process(other: Layout, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with other.exclusive(quiet):
        monkeypatch.setattr("fcntl.flock", _busy(said))
        with pytest.raises(KeyboardInterrupt):
            read(other, file, said.append)
    assert said == ["waiting for another process that compresses images"]


def _busy(said: list[str]) -> Callable[..., None]:
    def flock(*_: object) -> None:
        if said:
            raise KeyboardInterrupt
        raise BlockingIOError

    return flock


# ---- the commands


@pytest.fixture
def commands(layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The commands have these images; the cache of an import is another one. Returns a place for a file."""
    monkeypatch.setenv("STACKWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(images, "titles", lambda: {title.partition(":")[0]: title for title in TITLES})

    def complete(names: list[str] | None, report: object) -> list[CompleteImage]:
        return [each for each in layout.images() if not names or each.name in names]

    monkeypatch.setattr(images, "complete", complete)
    return tmp_path / "given.tar"


def call(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_commands_list_what_they_moved(commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = call("export", commands)
    assert written.exit_code == 0
    assert f"✓ Write {commands}" in written.output
    lines = [line.split() for line in written.output.splitlines()]
    assert ["REFERENCE", "DIGEST", "SIZE"] in lines
    assert [line[0] for line in lines if line[-1] == "MB"] == [f"stackwright.local/{title}" for title in TITLES]
    monkeypatch.setenv("STACKWRIGHT_CACHE", str(tmp_path / "site"))
    assert call("import", commands).output.count("imported") == len(TITLES)
    assert call("import", commands).output.count("present") == len(TITLES)
    assert "Read" not in call("import", commands, "-o", "json").output


@pytest.mark.parametrize(("form", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_data(
    commands: Path, layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, parse: Any
) -> None:
    etcd = layout.image("etcd:1")
    assert etcd
    expected = {"name": "etcd", "reference": "stackwright.local/etcd:1", "digest": etcd.descriptor.digest}
    expected["size"] = sum(blob.size for blob in etcd.blobs)
    assert parse(call("export", commands, "etcd", "-o", form).stdout) == [expected]
    monkeypatch.setenv("STACKWRIGHT_CACHE", str(tmp_path / "site"))
    assert parse(call("import", commands, "-o", form).stdout) == [expected | {"new": True}]


def test_a_target_that_is_refused_ends_with_1_before_images_are_built(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(commands)
    monkeypatch.setattr(images, "complete", None)
    done = call("export", commands)
    assert done.exit_code == 1
    assert f"{commands} cannot be written: it exists and is not a regular file. Name another file." in done.output


def test_a_missing_folder_is_named_before_images_are_built(commands: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "complete", None)
    file = commands.parent / "none" / "images.tar"
    done = call("export", file)
    assert done.exit_code == 1
    assert f"{file} cannot be written: the folder {file.parent} does not exist." in done.output


def test_a_file_that_is_refused_ends_with_1(commands: Path) -> None:
    commands.write_text("\x1b[31mno tar file")
    done = call("import", commands)
    assert done.exit_code == 1
    assert f"{commands} is no complete file of `stackwright images export`: " in done.output


@pytest.mark.parametrize("words", [["export"], ["import"], ["import", "/none"], ["export", "/"], ["import", "/"]])
def test_wrong_usage_ends_with_2(commands: Path, words: list[str]) -> None:
    assert call(*words).exit_code == 2


@pytest.mark.parametrize(
    ("command", "words"),
    [("export", "What is built and compressed is kept"), ("import", "What is imported is kept")],
)
def test_an_interrupt_says_how_to_continue(
    commands: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    commands.touch()
    monkeypatch.setattr(transfer, "export", interrupt)
    monkeypatch.setattr(transfer, "read", interrupt)
    done = call(command, commands)
    assert done.exit_code == 130
    assert f"{words}; run the same command again to continue." in done.output
