"""Complete images for registries: one OCI image layout, in which all images share their compressed layers.

    <cache>/published/{oci-layout, index.json, blobs/sha256/<digest>}

It is filled from the archives of the cache, whose layers are not compressed. A layer is compressed once, however many
images have it: configuration and manifest of an image in the layout tell which compressed layer belongs to which layer.
The same archives give the same bytes. `index.json` names only complete images, whenever a process is killed.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import threading
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stackwright.local.commands import LocalError, Report
from stackwright.local.config import LocalCluster
from stackwright.local.host.files import write_whole
from stackwright.local.image import recipes
from stackwright.local.image.cache import BuiltImage, LockedFolder

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
NAME = "org.opencontainers.image.ref.name"
_INDEX = "application/vnd.oci.image.index.v1+json"
_LEVEL = 3  # of zlib: half the time of its default level for 5 % larger layers
_GZIP = 31  # zlib's number for its largest window and a header of gzip, which has neither a time nor a name
_AT_ONCE = 2
_PIECE = 1 << 20


class Descriptor(BaseModel):
    """A blob of the layout, as manifests and the index describe it."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    media_type: str = Field(alias="mediaType")
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    size: int = Field(ge=0)
    annotations: dict[str, str] = Field(default_factory=dict)


class Manifest(BaseModel):
    """The manifest of an image."""

    config: Descriptor
    layers: list[Descriptor]


@dataclass(frozen=True)
class CompleteImage:
    """An image of the layout. `title` is its name and tag: `nova:0123456789ab`."""

    title: str
    descriptor: Descriptor
    manifest: Manifest


@dataclass(frozen=True)
class Source:
    """A layer that is not compressed: its place in an archive."""

    image: str
    archive: Path
    offset: int
    size: int


@dataclass(frozen=True)
class Archived:
    """What an archive of the cache says of its image. `sources` has only the layers that its base does not have."""

    title: str
    config: bytes
    layers: list[str]
    sources: dict[str, Source]

    @classmethod
    def read(cls, image: BuiltImage) -> Archived:
        """Raises LocalError for a damaged archive, and for an image of another architecture."""
        try:
            return cls._read(image)
        except (FileNotFoundError, tarfile.TarError, EOFError, ValueError, LookupError, TypeError, AttributeError):
            raise _damaged(image.name, image.archive) from None

    @classmethod
    def _read(cls, image: BuiltImage) -> Archived:
        with tarfile.open(image.archive) as archive:
            members = {member.name: member for member in archive}

            def blob(name: str) -> bytes:
                content = archive.extractfile(members[name])
                return content.read() if content else b""

            descriptor = json.loads(blob("index.json"))["manifests"][0]
            manifest = json.loads(blob(_path(descriptor["digest"])))
            config = blob(_path(manifest["config"]["digest"]))
        architecture = json.loads(config).get("architecture")
        if architecture != recipes.ARCHITECTURE:
            raise LocalError(f"Image {image.name} was built for {architecture}; {recipes.TESTED_ON}")
        layers = [str(layer["digest"]) for layer in manifest["layers"]]
        own = {digest: members[_path(digest)] for digest in layers if _path(digest) in members}
        sources = {
            digest: Source(image.name, image.archive, member.offset_data, member.size) for digest, member in own.items()
        }
        return cls(image.title, config, layers, sources)


class Layout(LockedFolder):
    """The layout in a cache."""

    work = "compresses images"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._stopped = threading.Event()

    @classmethod
    def of(cls, cluster: LocalCluster) -> Layout:
        return cls(cluster.cache / "published")

    @property
    def blobs(self) -> Path:
        return self.root / "blobs/sha256"

    def path(self, digest: str) -> Path:
        return self.blobs / digest.removeprefix("sha256:")

    def image(self, name: str) -> CompleteImage | None:
        """Return the image of a title, or None if it is not in the layout or lacks a blob."""
        return next((image for image in self.images() if image.title == name), None)

    def images(self) -> list[CompleteImage]:
        """Return all complete images."""
        try:
            listed = json.loads((self.root / "index.json").read_bytes())["manifests"]
            found = [Descriptor.model_validate(item) for item in listed]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return []
        return [image for descriptor in found if (image := self._complete(descriptor))]

    def add(self, built: Sequence[BuiltImage], report: Report) -> None:
        """Add built images, bases first; compress the layers that no image of the layout has, two at a time."""
        with self.exclusive(report):
            present = self.images()
            titles = {image.title for image in present}
            archives = [Archived.read(image) for image in built]
            new = [archived for archived in archives if archived.title not in titles]
            sources = {digest: source for archived in archives for digest, source in archived.sources.items()}
            layers = self._compressed(present)
            wanted = dict.fromkeys(digest for archived in new for digest in archived.layers if digest not in layers)
            if lost := [digest for digest in wanted if digest not in sources]:
                raise LocalError(f"Layer {lost[0]} is in no archive. Run `stackwright images build` and try again.")
            self.blobs.mkdir(parents=True, exist_ok=True)
            self._stopped.clear()
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                jobs = {digest: pool.submit(self._compress, digest, sources[digest]) for digest in wanted}
                try:
                    self._finish(new, present, layers, jobs, report)
                except BaseException:
                    self._stopped.set()
                    pool.shutdown(cancel_futures=True)
                    raise

    def prune(self, wanted: Iterable[str]) -> list[str]:
        """Remove all images but those with the wanted titles. Returns the titles of the removed ones."""
        if not self.blobs.exists():
            return []
        keep, images = set(wanted), self.images()
        kept = [image for image in images if image.title in keep]
        self._write_index(kept)
        used = {image.descriptor.digest for image in kept}
        for image in kept:
            used |= {blob.digest for blob in (image.manifest.config, *image.manifest.layers)}
        for path in self.blobs.iterdir():
            if f"sha256:{path.name}" not in used:
                path.unlink()
        return [image.title for image in images if image.title not in keep]

    def _finish(
        self,
        new: Iterable[Archived],
        present: list[CompleteImage],
        layers: dict[str, Descriptor],
        jobs: dict[str, Future[Descriptor]],
        report: Report,
    ) -> None:
        """Publish each image as soon as its layers are compressed, so that a killed process keeps them."""
        images = list(present)
        for archived in new:
            for digest in archived.layers:
                if digest not in layers:
                    done = sum(job.done() for job in jobs.values())
                    report(f"compressing layers of {archived.title} ({done} of {len(jobs)} layers compressed)")
                    layers[digest] = jobs[digest].result()
            config = self._write(CONFIG, archived.config)
            described = [layers[digest] for digest in archived.layers]
            document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": _dump(config)}
            content = _json(document | {"layers": [_dump(layer) for layer in described]})
            manifest = Manifest(config=config, layers=described)
            images.append(CompleteImage(archived.title, self._write(MANIFEST, content), manifest))
            self._write_index(images)

    def _complete(self, descriptor: Descriptor) -> CompleteImage | None:
        """Return an image unless it lacks a blob. Layers are checked by their sizes, because digests take long."""
        try:
            manifest = Manifest.model_validate_json(self.path(descriptor.digest).read_bytes())
            blobs = (descriptor, manifest.config, *manifest.layers)
            if any(self.path(blob.digest).stat().st_size != blob.size for blob in blobs):
                return None
            if any(_digest(self.path(blob.digest).read_bytes()) != blob.digest for blob in blobs[:2]):
                return None
        except (FileNotFoundError, ValidationError):
            return None
        return CompleteImage(descriptor.annotations.get(NAME, ""), descriptor, manifest)

    def _compressed(self, images: Iterable[CompleteImage]) -> dict[str, Descriptor]:
        """Return digest of a layer → its compressed form."""
        found: dict[str, Descriptor] = {}
        for image in images:
            config = json.loads(self.path(image.manifest.config.digest).read_bytes())
            found |= zip(config["rootfs"]["diff_ids"], image.manifest.layers, strict=True)
        return found

    def _compress(self, digest: str, source: Source) -> Descriptor:
        with self.scratch("layer") as scratch:
            plain, packed, size, left = hashlib.sha256(), hashlib.sha256(), 0, source.size
            compress = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            with _opened(source) as archive, (scratch / "blob").open("wb") as blob:
                archive.seek(source.offset)
                while piece := archive.read(min(left, _PIECE)):
                    if self._stopped.is_set():
                        raise LocalError("The compression was stopped.")
                    left -= len(piece)
                    plain.update(piece)
                    output = compress.compress(piece)
                    packed.update(output)
                    size += blob.write(output)
                output = compress.flush()
                packed.update(output)
                size += blob.write(output)
            if digest != f"sha256:{plain.hexdigest()}":
                raise _damaged(source.image, source.archive)
            described = Descriptor(media_type=LAYER, digest=f"sha256:{packed.hexdigest()}", size=size)
            (scratch / "blob").rename(self.path(described.digest))
        return described

    def _write(self, media_type: str, content: bytes) -> Descriptor:
        digest = _digest(content)
        write_whole(self.path(digest), content)
        return Descriptor(media_type=media_type, digest=digest, size=len(content))

    def _write_index(self, images: Iterable[CompleteImage]) -> None:
        named = {image.title: _dump(image.descriptor) | {"annotations": {NAME: image.title}} for image in images}
        self.blobs.mkdir(parents=True, exist_ok=True)
        write_whole(self.root / "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        listed = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [named[name] for name in sorted(named)]}
        write_whole(self.root / "index.json", _json(listed))


def _opened(source: Source) -> BinaryIO:
    try:
        return source.archive.open("rb")
    except FileNotFoundError:
        raise _damaged(source.image, source.archive) from None


def _damaged(image: str, archive: Path) -> LocalError:
    return LocalError(
        f"The archive of image {image} is damaged or missing. Remove {archive.parent} and run "
        f"`stackwright images build {image}`."
    )


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _path(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _dump(descriptor: Descriptor) -> dict[str, Any]:
    return descriptor.model_dump(by_alias=True, exclude={"annotations"})


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True).encode()
