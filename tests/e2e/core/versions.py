"""Versions of objects, which show whether a command wrote to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def versions(items: Iterable[Any]) -> dict[str, Any]:
    """kind/name → resourceVersion of each object, without those that a schedule made.

    The controller of CronJobs writes their status at each start. So of a CronJob all metadata is compared except its
    version: the generation changes with the spec only.
    """
    found = {item["metadata"]["uid"]: item for item in items}

    def is_scheduled(item: Any) -> bool:
        owners = item["metadata"].get("ownerReferences", [])
        known = [found[owner["uid"]] for owner in owners if owner["uid"] in found]
        return any(owner["kind"] == "CronJob" for owner in owners) or any(map(is_scheduled, known))

    def version(item: Any) -> Any:
        metadata = item["metadata"]
        if item["kind"] != "CronJob":
            return metadata["resourceVersion"]
        return {name: value for name, value in metadata.items() if name not in ("resourceVersion", "managedFields")}

    return {
        f"{item['kind']}/{item['metadata']['name']}": version(item) for item in found.values() if not is_scheduled(item)
    }
