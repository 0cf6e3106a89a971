"""Versions of objects, which show whether a command wrote to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def versions(items: Iterable[Any]) -> dict[str, Any]:
    """kind/name → resourceVersion of each object, without those that a schedule made.

    A CronJob is started by time, not by a command: its generation is compared, for it changes with the spec only.
    """
    found = {item["metadata"]["uid"]: item for item in items}

    def is_scheduled(item: Any) -> bool:
        owners = item["metadata"].get("ownerReferences", [])
        known = [found[owner["uid"]] for owner in owners if owner["uid"] in found]
        return any(owner["kind"] == "CronJob" for owner in owners) or any(map(is_scheduled, known))

    return {
        f"{item['kind']}/{item['metadata']['name']}": item["metadata"][
            "generation" if item["kind"] == "CronJob" else "resourceVersion"
        ]
        for item in found.values()
        if not is_scheduled(item)
    }
