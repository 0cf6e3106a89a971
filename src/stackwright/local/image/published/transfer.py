"""Exports complete images from a layout to one file, and imports them into another, for sites without a network.

The file is checked before the layout changes: it must contain exactly the blobs of its images, with the sizes in their
manifests, and only images of this version. For each copied blob its digest is compared, for a layer also the digest of
its unpacked content in the configuration. The index, which names the images, is written last. A killed import keeps
complete blobs, which the next import does not copy again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from stackwright.local.commands import LocalError, Report
from stackwright.local.config import IMAGE_PREFIX
from stackwright.local.host.files import appearing
from stackwright.local.image import recipes
from stackwright.local.image.published import oci, tar
from stackwright.local.image.published.layers import Contents
from stackwright.local.image.published.layout import Layout
from stackwright.local.image.published.oci import CompleteImage, Descriptor
from stackwright.local.image.published.tar import Malformed, Member

_PIECE = 1 << 20
_SMALL = 1 << 20  # bytes of a manifest, a configuration, the index
_MEGABYTE = 1e6
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Transferred:
    """An image in a file. size  of all its blobs; new  whether the layout lacked it"""

    name: str
    reference: str
    digest: str
    size: int
    new: bool = False


class _Progress:
    def __init__(self, total: int, report: Report) -> None:
        self._total, self._report, self._passed = total, report, 0

    def advance(self, count: int) -> None:
        self._passed += count
        self._report(f"{self._passed / _MEGABYTE:.0f} of {self._total / _MEGABYTE:.0f} MB")


class _Hashing:
    """A part of a file that is read once, with its digest."""

    def __init__(self, file: BinaryIO, size: int, progress: _Progress) -> None:
        self._file, self._left, self._progress = file, size, progress
        self._found = hashlib.sha256()

    def read(self, size: int = _PIECE, /) -> bytes:
        piece = self._file.read(min(size, self._left))
        self._left -= len(piece)
        self._found.update(piece)
        self._progress.advance(len(piece))
        return piece

    @property
    def digest(self) -> str:
        return f"sha256:{self._found.hexdigest()}"


# ---- export


def export(layout: Layout, images: Iterable[CompleteImage], path: Path, report: Report) -> list[Transferred]:
    """Write images to a file, which appears when it is complete. Raises LocalError."""
    wanted = sorted(images, key=lambda image: image.title)
    check_target(path)
    try:
        with appearing(path) as file:
            _write(layout, wanted, file, report)
    except OSError as error:
        raise _unwritable(path, error) from None
    return [_transferred(image) for image in wanted]


def check_target(path: Path) -> None:
    """Raises LocalError for a missing folder, and for a target that must not be replaced: a device, a pipe, a link."""
    try:
        path.parent.stat()
        regular = not path.is_symlink() and (path.is_file() or not path.exists())
    except FileNotFoundError:
        raise LocalError(f"{path} cannot be written: the folder {path.parent} does not exist.") from None
    except OSError as error:
        raise _unwritable(path, error) from None
    if not regular:
        raise LocalError(f"{path} cannot be written: it exists and is not a regular file. Name another file.")


def _write(layout: Layout, images: list[CompleteImage], file: BinaryIO, report: Report) -> None:
    sizes = oci.sizes(images)
    progress = _Progress(sum(sizes.values()), report)
    with tar.writing(file) as archive:
        for name, content in {"oci-layout": oci.VERSION, "index.json": oci.index(images)}.items():
            tar.add(archive, name, len(content), io.BytesIO(content))
        for digest, size in sizes.items():
            path = layout.path(digest)
            with _opened(path) as blob:
                hashing = _Hashing(blob, size, progress)
                if os.fstat(blob.fileno()).st_size == size:
                    tar.add(archive, oci.path_of(digest), size, hashing)
            if hashing.digest != digest:
                raise LocalError(f"{path} is damaged. Remove it and run the same command again.")


# ---- import


def read(layout: Layout, path: Path, titles: Collection[str], report: Report) -> list[Transferred]:
    """Read all images of a file into a layout. Raises LocalError for any other file, and then adds no image.

    titles  of the images of this version
    """
    try:
        with _opened(path) as file:
            content = _Content(file, tar.members(file))
            images = content.images(titles)
            with layout.exclusive(report):
                before = layout.images()
                content.copy(images, layout, layout.compressed(before), report)
                kept = {image.title: image for image in (*before, *images)}
                layout.publish(kept.values())
    except OSError as error:
        raise LocalError(f"{path} cannot be imported into {layout.root}: {error.strerror or error}.") from None
    except Malformed as problem:
        raise LocalError(f"{path} is no complete file of `stackwright images export`: {problem}.") from None
    known = {(image.title, image.descriptor.digest) for image in before}
    return [_transferred(image, (image.title, image.descriptor.digest) not in known) for image in images]


class _Content:
    """A file whose blobs are at the places `members`. All methods raise Malformed."""

    def __init__(self, file: BinaryIO, members: dict[str, Member]) -> None:
        self._file, self._members = file, members
        self._manifests: dict[str, oci.Manifest] = {}  # each is read once, also if the index names it several times
        self._contents = Contents()

    def images(self, titles: Collection[str]) -> list[CompleteImage]:
        """The images of the file; exactly their blobs must exist, with their sizes. Raises LocalError, too."""
        if self._small("oci-layout") != oci.VERSION:
            raise Malformed("it is of another version of the OCI image layout")
        index = _parsed(oci.Index, self._small("index.json"), "index.json")
        names = [each.annotations.get(oci.NAME, "") for each in index.manifests if each.artifact_type is None]
        if other := [name for name in names if name not in titles]:
            raise LocalError(
                f"{self._file.name} has images of another version of Stackwright, such as {other[0]:.80}. Import it "
                "with that version, or export the images of this one."
            )
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise Malformed(f"it has the image {twice[0]} twice")
        if len(index.manifests) > 2 * len(names):
            raise Malformed("its index names more than its images and their bills of materials")
        found = oci.assembled(index, self._manifest)
        if not found:
            raise Malformed("it has no image with a bill of materials")
        for image in found:
            self._check(image)
        unknown = self._members.keys() - {"oci-layout", "index.json", *map(oci.path_of, oci.sizes(found))}
        if unknown:
            raise Malformed(f"{min(unknown)} belongs to no image")
        return found

    def copy(
        self, images: Iterable[CompleteImage], layout: Layout, known: Mapping[str, Descriptor], report: Report
    ) -> None:
        """Copy the blobs that the layout lacks; each is renamed into place after its digest is verified.

        If the file is refused, its copied blobs are removed. known  content → layer, of the images of the layout
        """
        sizes = oci.sizes(images)
        compared = {(content, layer.digest) for content, layer in known.items()}
        progress = _Progress(sum(sizes.values()), report)
        layout.blobs.mkdir(parents=True, exist_ok=True)
        copied: list[Path] = []
        try:
            with layout.scratch("import") as scratch:
                for digest, size in sizes.items():
                    path, new = layout.path(digest), scratch / "blob"
                    if there := _is_there(path, digest):
                        progress.advance(size)
                    else:
                        self._copy(digest, new, progress)
                    self._contents.compare(digest, path if there else new, compared)
                    if not there:
                        new.replace(path)
                        copied.append(path)
        except Malformed:
            for path in copied:
                path.unlink()
            raise

    def _copy(self, digest: str, target: Path, progress: _Progress) -> None:
        member = self._members[oci.path_of(digest)]
        self._file.seek(member.offset)
        content = _Hashing(self._file, member.size, progress)
        with target.open("wb") as blob:
            while piece := content.read():
                blob.write(piece)
        if content.digest != digest:
            raise Malformed(f"the content of {oci.path_of(digest)} has another digest")

    def _manifest(self, described: Descriptor) -> oci.Manifest:
        if described.media_type != oci.MANIFEST:
            raise Malformed(f"a manifest is of the type {described.media_type:.80}")
        self._place(described)
        if described.digest not in self._manifests:
            self._manifests[described.digest] = _parsed(oci.Manifest, self._described(described), "a manifest")
        return self._manifests[described.digest]

    def _check(self, image: CompleteImage) -> None:
        for blob in image.blobs:
            self._place(blob)
        try:
            config = json.loads(self._described(image.manifest.config))
            layers, architecture = config["rootfs"]["diff_ids"], config["architecture"]
            valid = isinstance(layers, list) and all(isinstance(layer, str) for layer in layers)
            valid = valid and len(layers) == len(image.manifest.layers) and config["os"] == "linux"
        except (ValueError, TypeError, KeyError, RecursionError):
            valid = False
        if not valid:
            raise Malformed(f"the configuration of {image.title:.80} is not valid")
        recipes.check_tested(image.name, architecture)
        self._contents.add(image.manifest.layers, layers)

    def _place(self, blob: Descriptor) -> Member:
        name = oci.path_of(blob.digest)
        member = self._members.get(name)
        if member is None:
            raise Malformed(f"{name} is missing")
        if member.size != blob.size:
            raise Malformed(f"{name} has another size than its image says")
        return member

    def _described(self, blob: Descriptor) -> bytes:
        self._place(blob)
        content = self._small(oci.path_of(blob.digest))
        if oci.digest_of(content) != blob.digest:
            raise Malformed(f"the content of {oci.path_of(blob.digest)} has another digest")
        return content

    def _small(self, name: str) -> bytes:
        member = self._members.get(name)
        if member is None:
            raise Malformed(f"{name} is missing")
        if member.size > _SMALL:
            raise Malformed(f"{name} is too large")
        self._file.seek(member.offset)
        return self._file.read(member.size)


def _is_there(path: Path, digest: str) -> bool:
    """Whether a blob is complete: an interrupted import may have left it, or another image may have it."""
    try:
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" == digest
    except FileNotFoundError:
        return False


def _opened(path: Path) -> BinaryIO:
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return path.open("rb")
    except OSError as error:
        raise LocalError(f"{path} cannot be read: {error.strerror}.") from None
    raise LocalError(f"{path} is not a regular file.")


def _unwritable(path: Path, error: OSError) -> LocalError:
    return LocalError(f"{path} cannot be written: {error.strerror or error}.")


def _parsed(model: type[M], content: bytes, what: str) -> M:
    try:
        return model.model_validate_json(content)
    except ValidationError:
        raise Malformed(f"{what} is not valid") from None


def _transferred(image: CompleteImage, new: bool = False) -> Transferred:
    reference = f"{IMAGE_PREFIX}/{image.title}"
    return Transferred(image.name, reference, image.descriptor.digest, sum(blob.size for blob in image.blobs), new)
