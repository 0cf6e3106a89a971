"""Empty maps and lists of a status are left out before it is applied.

Under server-side apply an emptied map does not become {}: when the last field goes and the applier still names the
map, the API server makes it null, and then refuses the null. Leaving the field out removes it cleanly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def without_empties(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields less those that are {} or [], at any depth of maps; what stands in lists is left as it is."""
    pruned = {name: without_empties(value) if isinstance(value, Mapping) else value for name, value in fields.items()}
    return {name: value for name, value in pruned.items() if value not in ({}, [])}
