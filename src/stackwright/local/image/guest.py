"""The guest image: the disk of virtual machines (`docs/reference/guest-image.md` describes its content).

It is built like every other image (`images/guest`), so it has a digest and a bill of materials, and fits into a
registry. Glance needs a file, so the disk is extracted from the archive once:

    <cache>/guest/guest-<digest12>.qcow2
"""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
from pathlib import Path

from stackwright.local.commands import LocalError, Report
from stackwright.local.config import LocalCluster
from stackwright.local.image import images
from stackwright.local.image.published.oci import path_of

IMAGE = "guest"
DISK = "guest.qcow2"
USER = "stackwright"
"""User of log-ins by ssh, with the key of the machine's key pair."""


def guest_image(cluster: LocalCluster, report: Report | None = None) -> Path:
    """Return the path of the disk, which is built if missing."""
    built = images.build(IMAGE, report)
    folder = cluster.cache / "guest"
    target = folder / f"guest-{built.reference.rpartition(':')[2]}.qcow2"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as scratch:
            disk = Path(scratch, DISK)
            extract(built.archive, DISK, disk)
            disk.rename(target)  # complete or absent
        for other in folder.glob("guest-*.qcow2"):
            if other != target:
                other.unlink()
    return target


def extract(archive: Path, name: str, target: Path) -> None:
    """Write one file of an image to `target`; the archive must have the layer with the file."""
    with tarfile.open(archive) as outer:
        (descriptor,) = json.loads(_blob(outer, "index.json"))["manifests"]
        manifest = json.loads(_blob(outer, path_of(descriptor["digest"])))
        held = set(outer.getnames())
        layers = [path_of(layer["digest"]) for layer in manifest["layers"]]
        for layer in reversed([path for path in layers if path in held]):  # the highest layer with the file is used
            content = outer.extractfile(layer)
            with tarfile.open(fileobj=content) as inner:
                member = next((entry for entry in inner if entry.name.removeprefix("./") == name), None)
                source = inner.extractfile(member) if member else None
                if source:
                    with target.open("wb") as file:
                        shutil.copyfileobj(source, file)
                    return
    raise LocalError(f"{archive} does not contain {name}.")


def _blob(archive: tarfile.TarFile, name: str) -> bytes:
    content = archive.extractfile(name)
    if content is None:
        raise LocalError(f"{name} in {archive.name!r} is not a file.")
    return content.read()
