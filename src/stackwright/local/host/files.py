"""Files that are complete or absent, even if the writer is killed."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes | str, mode: int = 0o644) -> None:
    """Readers see the old file or the new one, also after a power cut. `mode` holds even while it is written."""
    new = path.with_name(path.name + ".new")
    data = content.encode() if isinstance(content, str) else content
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
