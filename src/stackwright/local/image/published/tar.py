"""The tar file of an OCI image layout: plain files only, each once, without owners and times.

A small reader of our own reads it. The reader of the standard library follows links and extended headers, whose sizes
the file chooses; here a file with a header of more than 512 bytes is refused.
"""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass
from typing import BinaryIO, Protocol

_BLOCK = tarfile.BLOCKSIZE
_END = 2 * tarfile.RECORDSIZE  # bytes; zeros after the last file fill a record
_MOST = 4096  # files; an export has about a hundred
_NAME = re.compile(r"oci-layout|index\.json|blobs/sha256/[0-9a-f]{64}")
_KINDS = {
    tarfile.LNKTYPE: "a link",
    tarfile.SYMTYPE: "a link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.DIRTYPE: "a folder",
    tarfile.FIFOTYPE: "a pipe",
}


class Malformed(Exception):
    """The reason why a file is refused."""


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Member:
    """The place of a file."""

    offset: int
    size: int


def writing(file: BinaryIO) -> tarfile.TarFile:
    """A tar file to which `add` writes. The same files in the same order give the same bytes."""
    return tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT)


def add(archive: tarfile.TarFile, name: str, size: int, content: Readable) -> None:
    """Raises OSError if the content is shorter than `size`."""
    entry = tarfile.TarInfo(name)
    entry.size = size
    archive.addfile(entry, content)  # type: ignore[arg-type]  # it only reads


def members(file: BinaryIO) -> dict[str, Member]:
    """Name → place of each file. Raises Malformed for everything that an export does not write."""
    end = file.seek(0, 2)
    found: dict[str, Member] = {}
    offset = 0
    while any(header := _header(file, offset)):
        name, size = _parsed(header)
        if name in found:
            raise Malformed(f"it has {name} twice")
        if len(found) == _MOST:
            raise Malformed(f"it has more than {_MOST} files")
        offset += _BLOCK
        if size > end - offset:
            raise Malformed(f"{name} ends after the end of the file, which may be cut")
        found[name] = Member(offset, size)
        offset += -(-size // _BLOCK) * _BLOCK
    file.seek(offset)
    if end - offset > _END or any(file.read(_END)):
        raise Malformed("it goes on after its end")
    return found


def _header(file: BinaryIO, offset: int) -> bytes:
    file.seek(offset)
    header = file.read(_BLOCK)
    if len(header) < _BLOCK:
        raise Malformed("its end is missing")
    return header


def _parsed(header: bytes) -> tuple[str, int]:
    """Name and size. Raises Malformed also for links and extended headers."""
    try:
        entry = tarfile.TarInfo.frombuf(header, "ascii", "backslashreplace")
    except tarfile.HeaderError:
        raise Malformed("it is no tar file, or damaged") from None
    if entry.type != tarfile.REGTYPE:
        raise Malformed(f"{entry.name!r} is {_KINDS.get(entry.type, 'of an unknown kind')}")
    if not _NAME.fullmatch(entry.name):
        raise Malformed(f"it has a file {entry.name!r}")
    if entry.size < 0:
        raise Malformed(f"{entry.name} has a size that is not valid")
    return entry.name, entry.size
