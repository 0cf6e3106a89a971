"""Images of the cache: their configurations, and the places of their layers in the archives."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from stackwright.local.commands import LocalError
from stackwright.local.image import recipes
from stackwright.local.image.cache import BuiltImage
from stackwright.local.image.published.oci import path_of


@dataclass(frozen=True)
class Source:
    """A layer that is not compressed: its place in an archive."""

    image: str
    archive: Path
    offset: int
    size: int

    def open(self) -> BinaryIO:
        try:
            return self.archive.open("rb")
        except FileNotFoundError:
            raise self.damaged() from None

    def damaged(self) -> LocalError:
        return damaged(self.image, self.archive)


@dataclass(frozen=True)
class Archived:
    """An image of the cache. `sources` has only its own layers, without those of its base."""

    title: str
    config: bytes
    sbom: bytes
    layers: list[str]
    sources: dict[str, Source]

    @classmethod
    def read(cls, image: BuiltImage) -> Archived:
        """Raises LocalError for a damaged archive, and for an image of another architecture."""
        try:
            return cls._read(image)
        except (FileNotFoundError, tarfile.TarError, EOFError, ValueError, LookupError, TypeError, AttributeError):
            raise damaged(image.name, image.archive) from None

    @classmethod
    def _read(cls, image: BuiltImage) -> Archived:
        with tarfile.open(image.archive) as archive:
            members = {member.name: member for member in archive}

            def blob(name: str) -> bytes:
                content = archive.extractfile(members[name])
                return content.read() if content else b""

            descriptor = json.loads(blob("index.json"))["manifests"][0]
            manifest = json.loads(blob(path_of(descriptor["digest"])))
            config = blob(path_of(manifest["config"]["digest"]))
        recipes.check_tested(image.name, json.loads(config).get("architecture"))
        layers = [str(layer["digest"]) for layer in manifest["layers"]]
        own = {digest: members[path_of(digest)] for digest in layers if path_of(digest) in members}
        sources = {
            digest: Source(image.name, image.archive, member.offset_data, member.size) for digest, member in own.items()
        }
        return cls(image.title, config, image.sbom.read_bytes(), layers, sources)


def damaged(image: str, archive: Path) -> LocalError:
    return LocalError(
        f"The archive of image {image} is damaged or missing. Remove {archive.parent} and run "
        f"`stackwright images build {image}`."
    )
