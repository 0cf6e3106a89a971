"""Versions of Kubernetes. Pure."""

from __future__ import annotations

import re

OLDEST = (1, 35)  # that Stackwright and its charts support, because of image volumes
OLDEST_TEXT = ".".join(map(str, OLDEST))


def release(text: str) -> tuple[int, int] | None:
    """Major and minor number of a version, such as v1.35.2; None if it has another form."""
    found = re.match(r"v?(\d{1,5})\.(\d{1,5})", text)
    return (int(found[1]), int(found[2])) if found else None
