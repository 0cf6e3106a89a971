"""A Fernet key repository in the format of Keystone, stored in a Secret.

Key "0" is staged: it decrypts, and becomes the primary at the next rotation. The highest number is the primary, which
encrypts; all others only decrypt older tokens. A new key is thus on every node before it encrypts, so every replica can
decrypt every token.
"""

from __future__ import annotations

from collections.abc import Mapping

# Annotation of the Secret: time of the last rotation, in seconds since 1970.
ROTATED = "stackwright.dev/rotated-at"


def rotate(keys: Mapping[str, str], fresh: str, max_active: int) -> dict[str, str]:
    """The repository after one rotation; `fresh` becomes the staged key. Use `start` for an empty repository.

    A repository without a staged key, such as a restored one, keeps its primary and gets a staged key. Names that are
    not numbers are no keys: they are kept.
    """
    turned = {int(name): key for name, key in keys.items() if name.isdecimal()}
    if 0 in turned:
        turned[max(turned) + 1] = turned[0]
    turned[0] = fresh
    surplus = sorted(number for number in turned if number)[: max(0, len(turned) - max_active)]
    others = {name: text for name, text in keys.items() if not name.isdecimal()}
    return {**{str(number): key for number, key in sorted(turned.items()) if number not in surplus}, **others}


def start(staged: str, primary: str) -> dict[str, str]:
    return {"0": staged, "1": primary}
