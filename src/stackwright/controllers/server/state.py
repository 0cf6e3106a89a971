"""Nova's word for a server → what it means for whoever asked for one. Pure."""

from __future__ import annotations

from typing import Any

from stackwright.core.clouds import Thing
from stackwright.core.conditions import Condition, done, waiting
from stackwright.core.machines import INSTANCE

STOPPED = ("SHUTOFF", "STOPPED", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED")
KINDS = {"fixed": "InternalIP", "floating": "ExternalIP"}


def state_of(server: Thing) -> Condition:
    """No state is the last word: each may change, and is looked at again."""
    task = str(server.facts.get("task_state") or "")
    doing = f" ({task})" if task else ""
    match server.state:
        case "ACTIVE":
            return done(INSTANCE)
        case "ERROR":
            fault = str(server.facts.get("fault") or "Nova gives no cause")
            return waiting(INSTANCE, f"The server is in state ERROR: {fault}", "InstanceStateError")
        case "BUILD" | "":
            return waiting(INSTANCE, f"The server is being built{doing}", "InstanceBuilding")
        case state if state in STOPPED:
            return waiting(INSTANCE, f"The server is {state}{doing}; somebody has to start it", "InstanceNotRunning")
    return waiting(INSTANCE, f"The server is {server.state}{doing}", "InstanceNotReady")


def addresses(server: Thing) -> list[dict[str, str]]:
    """As a Node has them: by network, IPv4 first, and the name."""
    found = []
    networks: dict[str, Any] = dict(server.facts.get("addresses") or {})
    for name in sorted(networks):
        entries = sorted(networks[name], key=lambda entry: (entry.get("version", 4), entry["addr"]))
        found += [{"type": KINDS[e.get("OS-EXT-IPS:type", "fixed")], "address": e["addr"]} for e in entries]
    return [*found, {"type": "InternalDNS", "address": server.name}] if found else []
