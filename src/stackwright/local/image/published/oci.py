"""Complete images in the OCI Image Format: descriptors, manifests, the index of a layout. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
NAME = "org.opencontainers.image.ref.name"
VERSION = b'{"imageLayoutVersion": "1.0.0"}'  # the file oci-layout


class Descriptor(BaseModel):
    """A blob, as manifests and indexes describe it."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    media_type: str = Field(alias="mediaType")
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    size: int = Field(ge=0)
    annotations: dict[str, str] = Field(default_factory=dict)

    def dump(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude={"annotations"})


class Manifest(BaseModel):
    """The manifest of an image."""

    config: Descriptor
    layers: list[Descriptor]


class Index(BaseModel):
    """The manifests of a layout."""

    manifests: list[Descriptor]


@dataclass(frozen=True)
class CompleteImage:
    """An image of a layout. `title` is its name and tag: `nova:0123456789ab`."""

    title: str
    descriptor: Descriptor
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.title.partition(":")[0]

    @property
    def tag(self) -> str:
        return self.title.partition(":")[2]

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        """All files that it consists of."""
        return (self.descriptor, self.manifest.config, *self.manifest.layers)

    @property
    def described(self) -> tuple[str, ...]:
        """Digests of the files that describe it, which are small."""
        return (self.descriptor.digest, self.manifest.config.digest)


def index(images: Iterable[CompleteImage]) -> bytes:
    """The file index.json of a layout with these images."""
    named = {image.title: image.descriptor.dump() | {"annotations": {NAME: image.title}} for image in images}
    listed = [named[title] for title in sorted(named)]
    return as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": listed})


def sizes(images: Iterable[CompleteImage]) -> dict[str, int]:
    """Digest → size of all blobs of these images."""
    return {blob.digest: blob.size for image in images for blob in image.blobs}


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def path_of(digest: str) -> str:
    """The file of a blob in a layout."""
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def as_json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True).encode()
