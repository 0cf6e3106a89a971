"""Complete images for registries: one OCI image layout, in which all images share their compressed layers.

    <cache>/published/{oci-layout, index.json, blobs/sha256/<digest>}

It is filled from the archives of the cache, whose layers are not compressed. A layer that several images share is
compressed once: configuration and manifest of an image in the layout relate each layer to its compressed form. The same
archives give the same bytes. `index.json` names only complete images, whenever a process is killed.
"""

from __future__ import annotations

import hashlib
import json
import threading
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from pydantic import ValidationError

from stackwright.local.commands import LocalError, Report
from stackwright.local.config import LocalCluster
from stackwright.local.host.files import write_whole
from stackwright.local.image.cache import BuiltImage, LockedFolder
from stackwright.local.image.published import oci
from stackwright.local.image.published.archived import Archived, Source
from stackwright.local.image.published.oci import (
    CONFIG,
    LAYER,
    MANIFEST,
    SBOM,
    Artifact,
    CompleteImage,
    Descriptor,
    Manifest,
)

_LEVEL = 3  # of zlib: half the time of its default level for 5 % larger layers
_GZIP = 31  # zlib's number for its largest window and a header of gzip, which has neither a time nor a name
_AT_ONCE = 2
_PIECE = 1 << 20


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
        return self.root / oci.path_of(digest)

    def image(self, name: str) -> CompleteImage | None:
        """Return the image of a title, or None if it is not in the layout or lacks a blob."""
        return next((image for image in self.images() if image.title == name), None)

    def images(self) -> list[CompleteImage]:
        """Return all complete images."""
        try:
            found = oci.Index.model_validate_json((self.root / "index.json").read_bytes())
        except (FileNotFoundError, ValidationError):
            return []
        return [image for image in oci.assembled(found, self._manifest) if self._is_complete(image)]

    def add(self, built: Sequence[BuiltImage], report: Report) -> None:
        """Add built images, bases first; compress the layers that no image of the layout has, two in parallel."""
        with self.exclusive(report):
            present = self.images()
            titles = {image.title for image in present}
            archives = [Archived.read(image) for image in built]
            new = [archived for archived in archives if archived.title not in titles]
            sources = {digest: source for archived in archives for digest, source in archived.sources.items()}
            layers = self.compressed(present)
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

    def compressed(self, images: Iterable[CompleteImage]) -> dict[str, Descriptor]:
        """Return a map from the digest of each layer to its compressed form."""
        found: dict[str, Descriptor] = {}
        for image in images:
            config = json.loads(self.path(image.manifest.config.digest).read_bytes())
            found |= zip(config["rootfs"]["diff_ids"], image.manifest.layers, strict=True)
        return found

    def publish(self, images: Iterable[CompleteImage]) -> None:
        """Write the index with exactly these images, whose blobs are in the layout."""
        self.blobs.mkdir(parents=True, exist_ok=True)
        write_whole(self.root / "oci-layout", oci.VERSION)
        write_whole(self.root / "index.json", oci.index(images))

    def prune(self, wanted: Iterable[str]) -> list[str]:
        """Remove all images but those with the wanted titles. Returns the titles of the removed ones."""
        if not self.blobs.exists():
            return []
        keep, images = set(wanted), self.images()
        kept = [image for image in images if image.title in keep]
        self.publish(kept)
        used = oci.sizes(kept)
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
            images.append(self._described(archived, [layers[digest] for digest in archived.layers]))
            self.publish(images)

    def _described(self, archived: Archived, layers: list[Descriptor]) -> CompleteImage:
        """Write the manifest and the configuration of an image, and its bill of materials as an artifact of it."""
        manifest = Manifest(config=self._write(CONFIG, archived.config), layers=layers)
        descriptor = self._write(MANIFEST, manifest.dump())
        content = self._write(SBOM, archived.sbom).model_copy(update={"annotations": {oci.TITLE: "sbom.json"}})
        artifact = Manifest(config=self._write(oci.EMPTY, b"{}"), layers=[content], subject=descriptor)
        listed = self._write(MANIFEST, artifact.dump(SBOM)).model_copy(update={"artifact_type": SBOM})
        return CompleteImage(archived.title, descriptor, manifest, Artifact(listed, artifact))

    def _manifest(self, descriptor: Descriptor) -> Manifest | None:
        try:
            return Manifest.model_validate_json(self.path(descriptor.digest).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def _is_complete(self, image: CompleteImage) -> bool:
        """Whether all blobs exist. Layers are checked by their sizes, because digests take long."""
        try:
            return all(self.path(blob.digest).stat().st_size == blob.size for blob in image.blobs) and all(
                oci.digest_of(self.path(each).read_bytes()) == each for each in image.described
            )
        except FileNotFoundError:
            return False

    def _compress(self, digest: str, source: Source) -> Descriptor:
        with self.scratch("layer") as scratch:
            plain, packed, size, left = hashlib.sha256(), hashlib.sha256(), 0, source.size
            compress = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            with source.open() as archive, (scratch / "blob").open("wb") as blob:
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
                raise source.damaged()
            described = Descriptor(media_type=LAYER, digest=f"sha256:{packed.hexdigest()}", size=size)
            (scratch / "blob").rename(self.path(described.digest))
        return described

    def _write(self, media_type: str, content: bytes) -> Descriptor:
        digest = oci.digest_of(content)
        write_whole(self.path(digest), content)
        return Descriptor(media_type=media_type, digest=digest, size=len(content))
