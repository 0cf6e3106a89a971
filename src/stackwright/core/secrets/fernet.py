"""A Fernet key repository as Keystone reads it, kept in a Secret.

Key "0" is staged: it decrypts, and becomes the primary at the next turn; the highest number is the primary, which
encrypts; the others only decrypt what was made before. A new key is thus on every node before anything is
encrypted with it, so replicas never meet a token they cannot read.
"""

from __future__ import annotations

from collections.abc import Mapping

# Annotation of the Secret: when its keys last turned, in seconds since 1970.
ROTATED = "stackwright.dev/rotated-at"


def rotate(keys: Mapping[str, str], fresh: str, max_active: int) -> dict[str, str]:
    """The repository after one turn; `fresh` becomes the staged key. An empty one must be started by `start`."""
    numbers = sorted(int(name) for name in keys)
    turned = {int(name): key for name, key in keys.items()}
    turned[numbers[-1] + 1] = turned[0]
    turned[0] = fresh
    surplus = sorted(number for number in turned if number)[: max(0, len(turned) - max_active)]
    return {str(number): key for number, key in sorted(turned.items()) if number not in surplus}


def start(staged: str, primary: str) -> dict[str, str]:
    return {"0": staged, "1": primary}
