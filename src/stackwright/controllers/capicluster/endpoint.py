"""Where the API of a cluster is, and which machine its floating IP leads to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.controllers.capicluster.objects import api_port
from stackwright.controllers.capicluster.observe import KIND, Observed
from stackwright.controllers.capicluster.record import API
from stackwright.controllers.capicluster.stages import ENDPOINT_READY
from stackwright.core.belongings import Owner
from stackwright.core.clouds import CloudCall
from stackwright.core.clusterapi import CONTROL_PLANE
from stackwright.core.conditions import Condition, blocked, done
from stackwright.core.objects import completed, is_deleting
from stackwright.core.plan import Apply, Object


def endpoint(seen: Observed, told: Mapping[str, Any]) -> dict[str, Any]:
    """Host and port; empty while nobody says a host. `told` are fields of the status as they are now."""
    given = (seen.spec.get("controlPlaneEndpoint") or {}).get("host")
    host = given or (told.get("apiServerFloatingIP") or {}).get("address")
    host = host or (seen.spec.get("apiServer") or {}).get("fixedIP")
    return {"host": str(host), "port": api_port(seen.spec)} if host else {}


def stage(found: Mapping[str, Any], lost: str) -> Condition:
    """`lost` is an address that somebody deleted, and that cannot be replaced."""
    if lost:
        text = f"Somebody else deleted the floating IP {lost}, at which the API is for all who know it"
        way = f"ask the cloud's administrator for {lost} again and write it into spec.apiServer.floatingIP"
        return blocked(ENDPOINT_READY, "ResourceNotFound", f"{text}; {way}, or make another cluster")
    if found:
        return done(ENDPOINT_READY)
    text = "The API has no address; set spec.apiServer.enableFloatingIP, spec.apiServer.fixedIP or controlPlaneEndpoint"
    return blocked(ENDPOINT_READY, "NoEndpoint", text)


def noted(seen: Observed, found: Mapping[str, Any]) -> tuple[Apply, ...]:
    """Cluster API reads it in the spec. What the user wrote there stays."""
    if not found or (seen.spec.get("controlPlaneEndpoint") or {}).get("host"):
        return ()
    return completed(KIND, seen.obj, {"controlPlaneEndpoint": dict(found)})


def lead(seen: Observed, owner: Owner, told: Mapping[str, Any]) -> tuple[CloudCall, ...]:
    """The floating IP stays where it is as long as that machine is ready; else it goes to the first that is."""
    id_ = str((told.get("apiServerFloatingIP") or {}).get("id") or "")
    address = seen.look.get(API, id_) if seen.look else None
    ports = [port for port in (first_port(seen.servers.get(name)) for name in _ready(seen)) if port]
    if address is None or not ports or address.facts.get("port_id", ports[0]) in ports:
        return ()
    return (owner.call("update", API, id=id_, body={"port_id": ports[0]}, why="leads to the API server"),)


def _ready(seen: Observed) -> list[str]:
    """Machines of the control plane, by name."""
    return [
        machine["metadata"]["name"]
        for machine in seen.machines
        if CONTROL_PLANE in (machine["metadata"].get("labels") or {})
        and (machine.get("status") or {}).get("ready")
        and not is_deleting(machine)
    ]


def first_port(server: Object | None) -> str:
    ports = (((server or {}).get("status") or {}).get("resources") or {}).get("ports") or ()
    return str(ports[0]["id"]) if ports else ""
