"""Push complete images to a registry: only missing blobs are uploaded, each of them once for all images.

The order is: find the images whose manifest or blobs the registry lacks; upload each of their blobs to one repository;
mount it from there in the other repositories; write the manifests, so that the registry never has an incomplete image.
A repeated push uploads only the blobs that are still missing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from stackwright.adapters.registry.client import Blob, Registry
from stackwright.adapters.registry.errors import RegistryError, Stopped, Transient
from stackwright.adapters.registry.parallel import parallel
from stackwright.adapters.registry.reference import Prefix
from stackwright.adapters.registry.referrers import Referrers
from stackwright.adapters.registry.session import Session
from stackwright.adapters.registry.upload import CHUNK
from stackwright.local.commands import Report
from stackwright.local.image.published.layout import Layout
from stackwright.local.image.published.oci import CompleteImage

_MEGABYTE = 1e6


@dataclass(frozen=True)
class Pushed:
    """An image in the registry.

    sent  bytes of its blobs that were uploaded by this push;  sbom  digest of the artifact with its bill of materials
    """

    name: str
    reference: str
    digest: str
    new: bool
    sent: int
    sbom: str | None


@dataclass
class _Job:
    """The upload or the mount of one blob. source  the repository from which it can be mounted"""

    image: CompleteImage
    repository: str
    blob: Blob
    source: str | None = None


@dataclass
class Push:
    """One push of images of a layout."""

    layout: Layout
    prefix: Prefix
    session: Session
    report: Report
    chunk: int = CHUNK
    sboms: bool = True
    _registry: Registry = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _sent: dict[str, int] = field(default_factory=dict)
    _total: int = 0
    _passed: int = 0

    def __post_init__(self) -> None:
        self._registry = Registry(self.session, self.chunk)

    @property
    def _referrers(self) -> Referrers:
        return Referrers(self.session)

    def run(self, images: Iterable[CompleteImage]) -> list[Pushed]:
        """Push images, and return one result for each. Raises RegistryError."""
        try:
            return self._run(list(images))
        except FileNotFoundError as lost:
            raise RegistryError(
                f"{lost.filename} was removed while it was pushed. Run the same command again."
            ) from None

    def _run(self, wanted: list[CompleteImage]) -> list[Pushed]:
        self.report(f"checking {len(wanted)} images")
        there: dict[str, bool] = {}

        def check(image: CompleteImage) -> None:
            there[image.title] = self._is_there(image)

        parallel(self.session, check, wanted)
        new = [image for image in wanted if not there[image.title]]
        first, mounts = self._jobs(new, [image for image in wanted if there[image.title]])
        self._total = sum(job.blob.size for job in (*first, *mounts))
        parallel(self.session, self._push_blob, first)
        parallel(self.session, self._push_blob, mounts)
        parallel(self.session, self._put_manifest, new)
        if self.sboms:
            parallel(self.session, self._attach, new)
        return [self._result(image, not there[image.title]) for image in wanted]

    def _is_there(self, image: CompleteImage) -> bool:
        described, repository = image.descriptor, self._repository(image)
        return (
            self._registry.has_manifest(repository, image.tag, described.digest, described.media_type)
            and all(self._registry.has_blob(repository, blob.digest, blob.size) for blob in self._blobs(image))
            and (not self.sboms or self._referrers.has(repository, described.digest, image.sbom.descriptor.dump()))
        )

    def _jobs(self, new: Iterable[CompleteImage], present: Iterable[CompleteImage]) -> tuple[list[_Job], list[_Job]]:
        """Return an upload for each blob that no present image has, and the mounts of blobs from other repositories."""
        source = {blob.digest: self._repository(image) for image in present for blob in self._blobs(image)}
        first: list[_Job] = []
        mounts: list[_Job] = []
        for image in new:
            repository = self._repository(image)
            for blob in self._blobs(image):
                if (known := source.get(blob.digest)) is None:
                    source[blob.digest] = repository
                    first.append(_Job(image, repository, blob))
                else:
                    mounts.append(_Job(image, repository, blob, known))
        return first, mounts

    def _blobs(self, image: CompleteImage) -> list[Blob]:
        parts = (image, image.sbom) if self.sboms else (image,)
        found = {blob.digest: blob.size for each in parts for blob in each.manifest.blobs}
        return [Blob(digest, size, self.layout.path(digest)) for digest, size in found.items()]

    def _repository(self, image: CompleteImage) -> str:
        return self.prefix.repository(image.name)

    def _push_blob(self, job: _Job) -> None:
        """Push one blob. One that is not uploaded is added to the progress, too, which therefore ends at the total."""
        advanced = 0

        def advance(count: int) -> None:
            nonlocal advanced
            advanced += count
            self._advance(count)

        if not self._registry.has_blob(job.repository, job.blob.digest, job.blob.size) and self._registry.push_blob(
            job.repository, job.blob, job.source, advance
        ):
            with self._lock:
                self._sent[job.image.title] = self._sent.get(job.image.title, 0) + job.blob.size
        self._advance(job.blob.size - advanced)

    def _advance(self, count: int) -> None:
        with self._lock:
            self._passed += count
            self.report(f"{self._passed / _MEGABYTE:.0f} of {self._total / _MEGABYTE:.0f} MB")

    def _put_manifest(self, image: CompleteImage) -> None:
        content = self.layout.path(image.descriptor.digest).read_bytes()
        self._registry.put_manifest(self._repository(image), image.tag, content, image.descriptor.media_type)

    def _attach(self, image: CompleteImage) -> None:
        described = image.sbom.descriptor
        content = self.layout.path(described.digest).read_bytes()
        try:
            self._referrers.attach(self._repository(image), image.descriptor.digest, described.dump(), content)
        except (Stopped, Transient):
            raise
        except RegistryError as error:
            text = f"{error} The images are there; to push none of their bills of materials, use --no-sboms."
            raise RegistryError(text) from None

    def _result(self, image: CompleteImage, new: bool) -> Pushed:
        reference, sent = self.prefix.reference(image.title), self._sent.get(image.title, 0)
        sbom = image.sbom.descriptor.digest if self.sboms else None
        return Pushed(image.name, reference, image.descriptor.digest, new, sent, sbom)
