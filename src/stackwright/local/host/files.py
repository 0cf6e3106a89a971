"""Files that are complete or absent, even if the writer is killed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, content: bytes | str, mode: int = 0o644) -> None:
    """Write a file atomically, also across a power failure. It has `mode` even while it is written."""
    new = path.with_name(path.name + ".new")
    data = content.encode() if isinstance(content, str) else content
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


@contextmanager
def appearing(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file, which is renamed to `path` at the end. The folder may be writable for other users.

    Until then its name is random and no existing file is opened, so other users cannot redirect the writes.
    """
    part = path.with_name(f".{path.name}-{secrets.token_hex(8)}.part")
    opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(opened, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
