"""Check that each layer of a file has the unpacked content that the configurations of its images name.

An unchecked layer would be used for every image whose configuration names that content, including images that this
machine builds later.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path

from stackwright.local.image.published import oci
from stackwright.local.image.published.oci import Descriptor
from stackwright.local.image.published.tar import Malformed

_PIECE = 1 << 20
_MOST = 64 << 30  # bytes of all layers of a file; those of an export have about 3 GB


class Contents:
    """The layers of one file. All methods raise Malformed."""

    def __init__(self) -> None:
        self._named: dict[str, set[str]] = {}  # digest of a layer → digests of its content in configurations
        self._left = _MOST

    def add(self, layers: Iterable[Descriptor], contents: Iterable[str]) -> None:
        """Add the layers of an image, and the digests of their contents from its configuration."""
        for layer, content in zip(layers, contents, strict=True):
            if layer.media_type != oci.LAYER:
                raise Malformed(f"a layer is of the type {layer.media_type:.80}")
            self._named.setdefault(layer.digest, set()).add(content)

    def compare(self, blob: str, path: Path, known: Collection[tuple[str, str]]) -> None:
        """Unpack a blob, if it is a layer, and compare its content. known  contents and layers that are not compared"""
        named = {content for content in self._named.get(blob, ()) if (content, blob) not in known}
        if named and named != {self._unpacked(path, blob)}:
            raise Malformed(f"{oci.path_of(blob)} has another content than its image names")

    def _unpacked(self, path: Path, blob: str) -> str:
        found = hashlib.sha256()
        try:
            with gzip.open(path) as content:
                while piece := content.read(_PIECE):
                    found.update(piece)
                    self._left -= len(piece)
                    if self._left < 0:
                        raise Malformed("its layers are too large when they are unpacked")
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise Malformed(f"{oci.path_of(blob)} is not compressed by gzip, or damaged") from None
        return f"sha256:{found.hexdigest()}"
