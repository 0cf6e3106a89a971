"""The mark by which the operator recognizes the resources of an object in an OpenStack.

It contains the uid of the object, and a digest of what the resource is of this object. The create request writes it
into Nova's tags, Cinder's metadata or Neutron's descriptions.
"""

from __future__ import annotations

import re

from stackwright.api.meta import OURS

METADATA_KEY = f"{OURS}/mark"  # its key in the metadata of volumes
MARK = re.compile(r"stackwright:[0-9a-f-]{36}:[0-9a-f]{8}")


def prefix_of(uid: str) -> str:
    """The part that all marks of an object share."""
    return f"stackwright:{uid}"


def mark_of(uid: str, digest: str) -> str:
    """A mark: at most 60 characters, the limit of Nova's tags."""
    return f"{prefix_of(uid)}:{digest[:8]}"


def is_mark_of(mark: str, uid: str) -> bool:
    return mark.startswith(f"{prefix_of(uid)}:")


def unlike_marks(tags: list[str]) -> list[str]:
    """The tags. Raises ValueError if one has the form of a mark.

    Nova does not keep the order of tags, so the operator could read the mark of another object instead of ours.
    """
    if marks := sorted(filter(MARK.fullmatch, tags)):
        raise ValueError(f"{', '.join(marks)} has the reserved form of the operator's marks")
    return tags
