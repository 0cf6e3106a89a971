"""Versions of Kubernetes. Pure."""

from __future__ import annotations

import re

OLDEST = (1, 32)  # that Stackwright and its charts support
IMAGE_VOLUMES = (1, 35)  # the first that has image volumes without a feature gate, as the operator's chart assumes
OLDEST_TEXT = ".".join(map(str, OLDEST))
NEWEST_TEXT = "1.36"  # of a local cluster, as pinned in tools/kubernetes/go.mod


def release(text: str) -> tuple[int, int] | None:
    """Major and minor number of a version, such as v1.35.2; None if it has another form."""
    found = re.match(r"v?(\d{1,5})\.(\d{1,5})", text)
    return (int(found[1]), int(found[2])) if found else None


def lacks_image_volumes(text: str) -> bool:
    """Whether a version, such as v1.34.9, has no image volumes by default; an unknown one has them."""
    found = release(text)
    return found is not None and found < IMAGE_VOLUMES
