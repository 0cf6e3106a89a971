"""Maps Nova's server state to a condition, addresses and lost attachments. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.controllers.infra.server_template import INSTANCE
from stackwright.core.conditions import Condition, done, waiting
from stackwright.core.openstack.calls import ADD_PORT, ADD_VOLUME
from stackwright.core.openstack.resources import SERVER_KEY, CloudResource, ProjectView, ResourceKey

STOPPED = ("SHUTOFF", "STOPPED", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED")
KINDS = {"fixed": "InternalIP", "floating": "ExternalIP"}


def state_of(server: CloudResource) -> Condition:
    """No state is final: each may change and is checked again."""
    task = str(server.facts.get("task_state") or "")
    doing = f" ({task})" if task else ""
    match server.state:
        case "ACTIVE":
            return done(INSTANCE)
        case "ERROR":
            fault = str(server.facts.get("fault") or "Nova reports no cause")
            return waiting(INSTANCE, f"The server is in state ERROR: {fault}", "InstanceStateError")
        case "BUILD" | "":
            return waiting(INSTANCE, f"The server is being built{doing}", "InstanceBuilding")
        case state if state in STOPPED:
            return waiting(INSTANCE, f"The server is {state}{doing}; start it", "InstanceNotRunning")
    return waiting(INSTANCE, f"The server is {server.state}{doing}", "InstanceNotReady")


def detached(things: Mapping[ResourceKey, CloudResource]) -> dict[ResourceKey, dict[str, str]]:
    """Resource that a running server lost → body of the request that attaches it again.

    Nova's addresses and volumes are as recent as its state, or unknown. Ports are listed less often and checked as
    well, because Nova may omit a server's addresses for a while.
    """
    server = things[SERVER_KEY]
    if server.state != "ACTIVE" or server.facts.get("task_state") or "addresses" not in server.facts:
        return {}
    networks = (server.facts["addresses"] or {}).values()
    macs = {str(entry.get("OS-EXT-IPS-MAC:mac_addr")) for entries in networks for entry in entries}
    lost: dict[ResourceKey, dict[str, str]] = {}
    for resource_key, thing in things.items():
        if thing.type == "volume" and thing.id not in server.facts.get("volumes", (thing.id,)):
            lost[resource_key] = {ADD_VOLUME: thing.id}
        if thing.type == "port" and thing.facts.get("device_id") != server.id and _has_address(thing, macs):
            lost[resource_key] = {ADD_PORT: thing.id}
    return lost


def _has_address(port: CloudResource, others: set[str]) -> bool:
    """Whether Nova should list the port by its MAC address but does not."""
    mac = port.facts.get("mac_address")
    return bool(port.facts.get("fixed_ips") and mac and mac not in others)


def addresses(things: Mapping[ResourceKey, CloudResource], view: ProjectView) -> list[dict[str, str]]:
    """The addresses as in a Node: internal ones by network, IPv4 first, then floating IPs, then the name.

    If Nova reports no addresses, those of the ports are used: Nova is not polled immediately after each build. Neutron
    reports newly attached floating IPs before Nova does.
    """
    server = things[SERVER_KEY]
    by_network: Mapping[str, Any] = server.facts.get("addresses") or _of_ports(things)
    found: dict[str, list[str]] = {"InternalIP": [], "ExternalIP": _floating(things, view)}
    for name in sorted(by_network):
        for entry in sorted(by_network[name], key=lambda entry: (entry.get("version", 4), entry["addr"])):
            found[KINDS[entry.get("OS-EXT-IPS:type", "fixed")]].append(entry["addr"])
    listed = [{"type": type_, "address": each} for type_, every in found.items() for each in dict.fromkeys(every)]
    return [*listed, {"type": "InternalDNS", "address": server.name}] if listed else []


def _floating(things: Mapping[ResourceKey, CloudResource], view: ProjectView) -> list[str]:
    """Floating IPs attached to the server's ports."""
    ports = {thing.id for thing in things.values() if thing.type == "port"}
    every = (t.facts for t in view.things if t.type == "floating-ip" and t.facts.get("port_id") in ports)
    return sorted(str(facts["floating_ip_address"]) for facts in every if facts.get("floating_ip_address"))


def _of_ports(things: Mapping[ResourceKey, CloudResource]) -> dict[str, list[dict[str, Any]]]:
    """Addresses of the ports in Nova's format, but by network id."""
    found: dict[str, list[dict[str, Any]]] = {}
    for thing in things.values():
        fixed = (thing.facts.get("fixed_ips") or ()) if thing.type == "port" else ()
        for addr in (each["ip_address"] for each in fixed if each.get("ip_address")):
            entry = {"addr": addr, "version": 6 if ":" in addr else 4}
            found.setdefault(str(thing.facts.get("network_id")), []).append(entry)
    return found
