"""Archives of images: OCI layouts in a tar file, with only the layers that the base lacks.

Seven images share the same 150 MB, which each import of a complete archive would read, hash and write. So an archive
has only the image's own layers, uncompressed, and its base is imported before it: containerd finds the other layers by
their digests in its content store. `join` merges a chain of archives into a complete layout.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel

from stackwright.local.image.published.oci import NAME, VERSION, as_json, digest_of, path_of


class Layer(BaseModel):
    digest: str
    size: int


def write(exported: Path, reference: str, known: Iterable[str], target: Path) -> list[Layer]:
    """Write an archive of an image that buildah exported as a folder. Returns all its layers, the lowest first.

    `known` are the digests of layers to leave out.
    """
    manifest_bytes = (exported / "manifest.json").read_bytes()
    manifest = json.loads(manifest_bytes)
    layers = [Layer(digest=entry["digest"], size=entry["size"]) for entry in manifest["layers"]]
    skip = set(known)
    blobs = [manifest["config"]["digest"], *(layer.digest for layer in layers if layer.digest not in skip)]
    manifest_digest = digest_of(manifest_bytes)
    with tarfile.open(target, "w") as archive:
        _add(archive, "oci-layout", VERSION)
        for digest in dict.fromkeys(blobs):
            archive.add(exported / digest.removeprefix("sha256:"), path_of(digest), filter=_nameless)
        _add(archive, path_of(manifest_digest), manifest_bytes)
        descriptor = {
            "mediaType": manifest["mediaType"],
            "digest": manifest_digest,
            "size": len(manifest_bytes),
            "annotations": {
                "io.containerd.image.name": reference,
                NAME: reference.rpartition(":")[2],
            },
        }
        _add(archive, "index.json", as_json({"schemaVersion": 2, "manifests": [descriptor]}))
    return layers


def join(archives: Iterable[Path], target: Path) -> None:
    """Unpack a chain of archives, the lowest first, into one complete OCI layout of the last one's image."""
    for path in archives:
        with tarfile.open(path) as archive:
            archive.extractall(target, filter="data")


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _nameless(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without owner and time, so that equal content gives an equal archive."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry
