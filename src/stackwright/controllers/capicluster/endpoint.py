"""Where the API of a cluster is, and which machine its floating IP leads to. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.controllers.capicluster.objects import api_port
from stackwright.controllers.capicluster.observe import KIND, Observed
from stackwright.controllers.capicluster.record import API, record_of
from stackwright.controllers.capicluster.stages import ENDPOINT_READY
from stackwright.controllers.infra.addresses import is_of, kept_away
from stackwright.core.clusterapi import CONTROL_PLANE
from stackwright.core.conditions import Condition, blocked, done, waiting
from stackwright.core.objects import completed, is_deleting
from stackwright.core.openstack.clouds import CloudCall, Thing
from stackwright.core.openstack.managed_resources import Owner
from stackwright.core.plan import Apply, Object

ANOTHER = "make the cluster with another one in spec.apiServer.floatingIP"
VIP = (
    "if it leads to a VIP of the API, leave it there and set spec.controlPlaneEndpoint, in a new cluster with "
    "spec.apiServer.enableFloatingIP: false"
)


def endpoint(seen: Observed, told: Mapping[str, Any], held: str) -> dict[str, Any]:
    """Host and port; empty while nobody says a host. `told` are fields of the status as they are now.

    While it is `held`, none is told in its place: Cluster API keeps an endpoint for ever.
    """
    given = _given(seen)
    host = given or (told.get("apiServerFloatingIP") or {}).get("address")
    host = host or (seen.spec.get("apiServer") or {}).get("fixedIP")
    return {"host": str(host), "port": api_port(seen.spec)} if host and (given or not held) else {}


def stage(seen: Observed, told: Mapping[str, Any], found: Mapping[str, Any], lost: str, held: str) -> Condition:
    """`lost` is an address that somebody deleted, and that cannot be replaced; `held` why one is not ours to use.

    Where the spec says a host, the API may be there by a VIP of the user's, to which the address leads: only told.
    """
    if lost:
        text = f"Somebody else deleted the floating IP {lost}, at which the API is for all who know it"
        way = f"ask the cloud's administrator for {lost} again and write it into spec.apiServer.floatingIP"
        return blocked(ENDPOINT_READY, "ResourceNotFound", f"{text}; {way}, or make another cluster")
    if held and _given(seen) and not _at_bastion(seen, told):
        return done(ENDPOINT_READY, f"{held.partition(';')[0]}; it stays there, and the API is at {_given(seen)}")
    if held:
        return waiting(ENDPOINT_READY, f"{held}, or {ANOTHER}; {VIP}", "AddressInUse")
    if found:
        return done(ENDPOINT_READY)
    text = "The API has no address; set spec.apiServer.enableFloatingIP, spec.apiServer.fixedIP or controlPlaneEndpoint"
    return blocked(ENDPOINT_READY, "NoEndpoint", text)


def noted(seen: Observed, found: Mapping[str, Any]) -> tuple[Apply, ...]:
    """Cluster API reads it in the spec. What the user wrote there stays."""
    if not found or _given(seen):
        return ()
    return completed(KIND, seen.obj, {"controlPlaneEndpoint": dict(found)})


def held(seen: Observed, told: Mapping[str, Any]) -> str:
    """Why the floating IP does not lead to this cluster, and what to do; empty if it does, or may.

    A port that has it may be that of a machine which was restored and has not recorded its ports yet. The cluster's
    spec says a host then. Where it does not, none is written before the port is known.
    """
    address = _address(seen, told)
    if address is None:
        return ""
    unknown = not address.mark and any(_is_unknown(seen, machine) for machine in _control_plane(seen))
    return "" if unknown and _given(seen) else _kept_away(seen, address)


def lead(seen: Observed, owner: Owner, told: Mapping[str, Any]) -> tuple[CloudCall, ...]:
    """The floating IP stays where it is as long as that machine is ready; else it goes to the first that is."""
    address = _address(seen, told)
    ports = [port for port in (first_port(seen.servers.get(name)) for name in _ready(seen)) if port]
    if address is None or not ports or address.facts.get("port_id", ports[0]) in ports or _kept_away(seen, address):
        return ()
    return (owner.call("update", API, id=address.id, body={"port_id": ports[0]}, why="leads to the API server"),)


def _given(seen: Observed) -> str:
    """The host that the spec says, whoever wrote it."""
    return str((seen.spec.get("controlPlaneEndpoint") or {}).get("host") or "")


def _address(seen: Observed, told: Mapping[str, Any]) -> Thing | None:
    id_ = str((told.get("apiServerFloatingIP") or {}).get("id") or "")
    return seen.look.get(API, id_) if seen.look and id_ else None


def _at_bastion(seen: Observed, told: Mapping[str, Any]) -> bool:
    address = _address(seen, told)
    return address is not None and address.facts.get("port_id") in {*ports_of(seen.bastion)}


def _kept_away(seen: Observed, address: Thing) -> str:
    servers = (seen.servers.get(machine["metadata"]["name"]) for machine in seen.machines)
    ports = {port for server in servers for port in ports_of(server)}
    return kept_away(address, is_of(address, seen.identity, record_of(seen.status)), ports, "cluster")


def _is_unknown(seen: Observed, machine: Object) -> bool:
    """Whether it has a server, and nobody knows of what ports."""
    return bool(machine["spec"].get("providerID")) and not first_port(seen.servers.get(machine["metadata"]["name"]))


def _ready(seen: Observed) -> list[str]:
    """Machines of the control plane, by name."""
    return [
        machine["metadata"]["name"]
        for machine in _control_plane(seen)
        if (machine.get("status") or {}).get("ready") and not is_deleting(machine)
    ]


def _control_plane(seen: Observed) -> Iterator[Object]:
    return (each for each in seen.machines if CONTROL_PLANE in (each["metadata"].get("labels") or {}))


def first_port(server: Object | None) -> str:
    return next(ports_of(server), "")


def ports_of(server: Object | None) -> Iterator[str]:
    """Ids of those that it has recorded, in the order of its spec."""
    resources = ((server or {}).get("status") or {}).get("resources") or {}
    return (str(port["id"]) for port in resources.get("ports") or ())
