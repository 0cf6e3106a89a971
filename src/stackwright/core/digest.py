"""Digests of desired state: equal states have equal digests, regardless of the order of keys."""

from __future__ import annotations

import hashlib
import json
from typing import Any

LENGTH = 16


def digest(*parts: Any) -> str:
    """Hex digest of JSON-like values; 64 bits, enough to distinguish versions of one object."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
