"""Archives and bills of materials, from hand-written exported images."""

import hashlib
import io
import json
import tarfile

import pytest

from stackwright.local.image import archive as image_archive
from stackwright.local.image import sbom

STATUS = """Package: bash
Status: install ok installed
Architecture: amd64
Version: 5.2.37-2
Description: a shell
 that is long

Package: perl
Status: deinstall ok config-files
Architecture: amd64
Version: 5.40
"""


def put(folder, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    (folder / digest).write_bytes(content)
    return f"sha256:{digest}"


@pytest.fixture
def export(tmp_path):
    """Creates the output of `buildah push … dir:` for the given layers."""

    def make(name: str, *layers: bytes):
        folder = tmp_path / name
        folder.mkdir()
        entries = [{"digest": put(folder, layer), "size": len(layer)} for layer in layers]
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"digest": put(folder, name.encode()), "size": len(name)},
            "layers": entries,
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return folder, [entry["digest"] for entry in entries]

    return make


def names(path):
    with tarfile.open(path) as archive:
        return archive.getnames()


def test_an_archive_has_only_the_layers_that_are_not_known(export, tmp_path):
    folder, (low, high) = export("image", b"low layer", b"high layer")
    layers = image_archive.write(folder, "stackwright.local/image:1", [low], tmp_path / "image.tar")
    assert [layer.digest for layer in layers] == [low, high]
    listed = names(tmp_path / "image.tar")
    assert f"blobs/sha256/{high[7:]}" in listed
    assert f"blobs/sha256/{low[7:]}" not in listed


def test_an_archive_carries_the_reference_containerd_reads(export, tmp_path):
    folder, _ = export("image", b"layer")
    image_archive.write(folder, "stackwright.local/image:abc", [], tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as archive:
        (entry,) = json.load(archive.extractfile("index.json"))["manifests"]
        blob = archive.extractfile(f"blobs/sha256/{entry['digest'][7:]}").read()
    assert entry["annotations"]["io.containerd.image.name"] == "stackwright.local/image:abc"
    assert hashlib.sha256(blob).hexdigest() == entry["digest"][7:]
    assert len(blob) == entry["size"]


def test_equal_images_make_equal_archives(export, tmp_path):
    for name in ("one", "two"):
        folder, _ = export(name, b"layer")
        (folder / "manifest.json").write_bytes((tmp_path / "one" / "manifest.json").read_bytes())
        put(folder, b"one")
        image_archive.write(folder, "x/y:1", [], tmp_path / f"{name}.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_a_chain_of_archives_joins_to_a_complete_layout(export, tmp_path):
    low_folder, (low,) = export("low", b"low layer")
    high_folder, layers = export("high", b"low layer", b"high layer")
    image_archive.write(low_folder, "x/low:1", [], tmp_path / "low.tar")
    image_archive.write(high_folder, "x/high:1", [low], tmp_path / "high.tar")
    image_archive.join([tmp_path / "low.tar", tmp_path / "high.tar"], tmp_path / "joined")
    for digest in layers:
        assert (tmp_path / "joined/blobs/sha256" / digest[7:]).exists()
    (entry,) = json.loads((tmp_path / "joined/index.json").read_text())["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "x/high:1"


def layer(tmp_path, files: dict[str, str]):
    path = tmp_path / "layer"
    with tarfile.open(path, "w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_debian_packages_are_those_installed():
    (bash,) = sbom.debian_packages(STATUS)
    assert bash["purl"] == "pkg:deb/debian/bash@5.2.37-2?arch=amd64"


def test_a_layer_replaces_the_debian_packages_of_its_base_and_adds_python_packages(tmp_path):
    base = [
        {"type": "library", "name": "dash", "version": "1", "purl": "pkg:deb/debian/dash@1?arch=amd64"},
        {"type": "library", "name": "old", "version": "1", "purl": "pkg:pypi/old@1"},
    ]
    metadata = "Metadata-Version: 2.1\nName: Some.Thing\nVersion: 2.0\n\nName: not a header"
    files = {"var/lib/dpkg/status": STATUS, "opt/v/site-packages/some_thing-2.0.dist-info/METADATA": metadata}
    found = sbom.components([layer(tmp_path, files)], base)
    assert {component["purl"] for component in found} == {
        "pkg:deb/debian/bash@5.2.37-2?arch=amd64",
        "pkg:pypi/old@1",
        "pkg:pypi/some-thing@2.0",
    }


def test_a_layer_without_packages_keeps_those_of_its_base(tmp_path):
    base = [{"type": "library", "name": "dash", "version": "1", "purl": "pkg:deb/debian/dash@1?arch=amd64"}]
    assert sbom.components([layer(tmp_path, {"etc/x": "y"})], base) == base


def test_go_modules_of_a_tool():
    text = "module m\n\ngo 1.26\n\nrequire a.dev/one v1.2.3\n\nrequire (\n\tb.dev/x/two v0.1.0 // indirect\n)\n"
    assert [m["purl"] for m in sbom.go_modules(text)] == [
        "pkg:golang/a.dev/one@v1.2.3",
        "pkg:golang/b.dev/x/two@v0.1.0",
    ]


def test_the_document_is_cyclonedx():
    document = sbom.document("keystone", "2025.1", [])
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["name"] == "keystone"
