"""OpenStackServers for tests: the example with changes, and its deletion."""

from __future__ import annotations

from typing import Any

from harness import eventually
from infra import Infra, example

KIND, POOLS = "openstackservers", "openstackfloatingippools"
BARE = {"trunk": False, "rootVolume": None, "additionalBlockDevices": None}


def server(name: str = "web", **spec: Any) -> dict[str, Any]:
    """The server of the example, with these changes; without keys that are None."""
    (made,) = example("server-volumes")
    wanted = {field: value for field, value in {**made["spec"], **spec}.items() if value is not None}
    return {**made, "metadata": {**made["metadata"], "name": name}, "spec": wanted}


def gone(infra: Infra, name: str) -> None:
    """Delete the object, and wait until all its recorded resources are deleted."""
    status = infra.status(KIND, name)
    had = {entry["id"] for entries in (status.get("resources") or {}).values() for entry in entries}
    had.add(status.get("instanceID"))
    infra.delete(KIND, name)
    eventually(lambda: not had & {id_ for _, id_ in infra.there()}, limit=30, pause=1)
