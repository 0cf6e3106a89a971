"""Cache of built images.

    <cache>/images/<name>-<digest12>/{image.tar, sbom.json, meta.json}

A complete folder is renamed into place, so every folder can be trusted; a killed build leaves only a `.building-*`
folder, which the next build removes. buildah's own storage is a second cache, for bases.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from stackwright.local.commands import Report, succeeds
from stackwright.local.image.archive import Layer

_UNFINISHED = ".building-"


@dataclass(frozen=True)
class BuiltImage:
    """An image in the cache. Its archive has only its own layers, so the archive of `base` must be imported first."""

    name: str
    reference: str
    archive: Path
    sbom: Path
    size: int
    base: str | None = None

    @property
    def title(self) -> str:
        """Name and tag."""
        return self.reference.rpartition("/")[2]


class Meta(BaseModel):
    """Metadata of a build. `layers` are all layers of the image, including those in its base's archive."""

    name: str
    reference: str
    digest: str
    base: str | None
    layers: list[Layer]
    seconds: float


class LockedFolder:
    """A folder that one process at a time changes. The next process removes the remains of a killed one."""

    work = "builds images"

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextlib.contextmanager
    def exclusive(self, report: Report) -> Iterator[None]:
        """Lock the folder against other processes; remove the remains of killed ones."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                report(f"waiting for another process that {self.work}")
                fcntl.flock(file, fcntl.LOCK_EX)
            for left in self.root.glob(f"{_UNFINISHED}*"):
                _remove(left)
            yield

    @contextlib.contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """Provide a temporary folder on the same file system."""
        folder = Path(tempfile.mkdtemp(prefix=f"{_UNFINISHED}{name}-", dir=self.root))
        try:
            yield folder
        finally:
            _remove(folder)


class ImageCache(LockedFolder):
    """The folder of built images."""

    def folder(self, name: str, digest: str) -> Path:
        return self.root / f"{name}-{digest[:12]}"

    def meta(self, name: str, digest: str) -> Meta | None:
        """Return an image's metadata, or None if it must be built."""
        folder = self.folder(name, digest)
        try:
            meta = Meta.model_validate_json((folder / "meta.json").read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return meta if (folder / "image.tar").exists() and meta.digest == digest else None

    def image(self, name: str, digest: str) -> BuiltImage | None:
        """Return a built image, or None."""
        meta = self.meta(name, digest)
        if meta is None:
            return None
        folder = self.folder(name, digest)
        size = sum(layer.size for layer in meta.layers)
        return BuiltImage(name, meta.reference, folder / "image.tar", folder / "sbom.json", size, meta.base)

    def keep(self, finished: Path, meta: Meta) -> None:
        """Move a finished image into place."""
        (finished / "meta.json").write_text(meta.model_dump_json(indent=2))
        target = self.folder(meta.name, meta.digest)
        if target.exists():  # it is damaged, otherwise it would not have been built again
            shutil.rmtree(target)
        finished.rename(target)

    def prune(self, wanted: dict[str, str]) -> list[str]:
        """Remove all images but the wanted ones (name → digest). Returns the names of the removed folders."""
        keep = {self.folder(name, digest).name for name, digest in wanted.items()}
        removed = []
        for folder in sorted(self.root.glob("*-????????????")):
            if folder.is_dir() and folder.name not in keep and not folder.name.startswith("."):
                (folder / "meta.json").unlink(missing_ok=True)  # first: without it, the image is treated as not built
                shutil.rmtree(folder)
                removed.append(folder.name)
        return removed


def _remove(folder: Path) -> None:
    """Remove a temporary folder without following mounts, such as /dev, that a killed build may have left in it."""
    succeeds(["rm", "-rf", "--one-file-system", folder], limit=600)
