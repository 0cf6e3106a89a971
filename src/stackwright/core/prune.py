"""Removal of empty maps and lists from a status before it is applied.

Under server-side apply, a map whose last field is removed while the applier still names the map becomes null, which
the API server then rejects. Omitting the map removes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def without_empties(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without those that are {} or [], at any depth of maps; items of lists are unchanged."""
    pruned = {name: without_empties(value) if isinstance(value, Mapping) else value for name, value in fields.items()}
    return {name: value for name, value in pruned.items() if value not in ({}, [])}
