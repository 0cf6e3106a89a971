"""Complete images in the OCI Image Format: descriptors, manifests, the index of a layout. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
EMPTY = "application/vnd.oci.empty.v1+json"  # the configuration of an artifact
SBOM = "application/vnd.cyclonedx+json"
TITLE = "org.opencontainers.image.title"
NAME = "org.opencontainers.image.ref.name"
VERSION = b'{"imageLayoutVersion": "1.0.0"}'  # the file oci-layout


class Descriptor(BaseModel):
    """A blob, as manifests and indexes describe it."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    media_type: str = Field(alias="mediaType")
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    size: int = Field(ge=0)
    artifact_type: str | None = Field(default=None, alias="artifactType")
    annotations: dict[str, str] = Field(default_factory=dict)

    def dump(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_defaults=True)


class Manifest(BaseModel):
    """The manifest of an image or of an artifact. subject  the manifest to which an artifact refers"""

    config: Descriptor
    layers: list[Descriptor]
    subject: Descriptor | None = None

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        return (self.config, *self.layers)

    def dump(self, artifact_type: str | None = None) -> bytes:
        document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": self.config.dump()}
        document["layers"] = [layer.dump() for layer in self.layers]
        if self.subject:
            document |= {"artifactType": artifact_type, "subject": self.subject.dump()}
        return as_json(document)


class Index(BaseModel):
    """The manifests of a layout."""

    manifests: list[Descriptor]


@dataclass(frozen=True)
class Artifact:
    """A manifest that refers to an image, with its descriptor."""

    descriptor: Descriptor
    manifest: Manifest


@dataclass(frozen=True)
class CompleteImage:
    """An image of a layout. title  its name and tag: `nova:0123456789ab`; sbom  its bill of materials"""

    title: str
    descriptor: Descriptor
    manifest: Manifest
    sbom: Artifact

    @property
    def name(self) -> str:
        return self.title.partition(":")[0]

    @property
    def tag(self) -> str:
        return self.title.partition(":")[2]

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        """All files of the image."""
        return tuple(blob for each in (self, self.sbom) for blob in (each.descriptor, *each.manifest.blobs))

    @property
    def described(self) -> tuple[str, ...]:
        """Digests of its manifests and configurations, which are small."""
        return (self.descriptor.digest, self.manifest.config.digest, self.sbom.descriptor.digest)


def index(images: Iterable[CompleteImage]) -> bytes:
    """The file index.json of a layout with these images. Artifacts have no name."""
    found = sorted(images, key=lambda image: image.title)
    named = {image.title: image.descriptor.dump() | {"annotations": {NAME: image.title}} for image in found}
    artifacts = {image.sbom.descriptor.digest: image.sbom.descriptor.dump() for image in found}
    listed = [*named.values(), *artifacts.values()]
    return as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": listed})


def assembled(index: Index, manifest: Callable[[Descriptor], Manifest | None]) -> list[CompleteImage]:
    """The images of an index that have a manifest and a bill of materials."""
    found = [(each, read) for each in index.manifests if (read := manifest(each))]
    sboms = {
        read.subject.digest: Artifact(each, read) for each, read in found if each.artifact_type == SBOM and read.subject
    }
    return [
        CompleteImage(each.annotations.get(NAME, ""), each, read, sboms[each.digest])
        for each, read in found
        if each.artifact_type is None and each.digest in sboms
    ]


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
