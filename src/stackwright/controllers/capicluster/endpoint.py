"""The API endpoint of a cluster, and the machine to which its floating IP is attached. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.controllers.capicluster.objects import api_port
from stackwright.controllers.capicluster.observe import KIND, Observed
from stackwright.controllers.capicluster.record import API
from stackwright.controllers.capicluster.stages import ENDPOINT_READY, early
from stackwright.controllers.infra.addresses import Unusable, is_of, why_unusable
from stackwright.controllers.infra.clusterapi import CONTROL_PLANE
from stackwright.controllers.infra.managed_resources import Owner, record_of
from stackwright.core.conditions import Condition, blocked, done, waiting
from stackwright.core.objects import completed, is_deleting
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.resources import CloudResource
from stackwright.core.plan import Apply, Object

ANOTHER = "recreate the cluster with another one in spec.apiServer.floatingIP"
VIP = (
    "if it is attached to a VIP of the API, keep it there and set spec.controlPlaneEndpoint, in a new cluster with "
    "spec.apiServer.enableFloatingIP: false"
)


def endpoint(seen: Observed, status: Mapping[str, Any], held: Unusable | None) -> dict[str, Any]:
    """Host and port; empty while no host is known. `status` contains the new fields of the status.

    While `held` is set, no other address replaces the floating IP, because Cluster API never changes an endpoint.
    """
    given = _given(seen)
    host = given or (status.get("apiServerFloatingIP") or {}).get("address")
    host = host or (seen.spec.get("apiServer") or {}).get("fixedIP")
    return {"host": str(host), "port": api_port(seen.spec)} if host and (given or not held) else {}


def stage(
    seen: Observed, status: Mapping[str, Any], found: Mapping[str, Any], lost: str, held: Unusable | None
) -> Condition:
    """The condition of the endpoint.

    lost  a deleted address that cannot be replaced;  held  why the floating IP may not be used

    If the spec names a host, the API may be served through a user's VIP to which the floating IP is attached; then the
    condition only reports this.
    """
    if lost:
        text = f"Another client deleted the floating IP {lost}, which all clients of the API use"
        way = f"ask the cloud's administrator to allocate {lost} again and set it in spec.apiServer.floatingIP"
        return blocked(ENDPOINT_READY, "ResourceNotFound", f"{text}; {way}, or create another cluster")
    if held and _given(seen) and not _at_bastion(seen, status):
        return done(ENDPOINT_READY, f"{held.cause}; it is kept there, and the endpoint of the API is {_given(seen)}")
    if held:
        return waiting(ENDPOINT_READY, f"{held}, or {ANOTHER}; {VIP}", "AddressInUse")
    if found:
        return done(ENDPOINT_READY)
    text = "The API has no address; set spec.apiServer.enableFloatingIP, spec.apiServer.fixedIP or controlPlaneEndpoint"
    return blocked(ENDPOINT_READY, "NoEndpoint", text)


def unfinished(seen: Observed, status: Mapping[str, Any], held: Unusable | None) -> tuple[Condition, ...]:
    """The condition while another stage is incomplete; the floating IP is attached to ready machines nevertheless.

    Empty if the floating IP is not known: the previous condition stays.
    """
    if _address(seen, status) is None:
        return ()
    return (stage(seen, status, endpoint(seen, status, held), "", held) if _given(seen) else early(ENDPOINT_READY),)


def written_endpoint(seen: Observed, found: Mapping[str, Any]) -> tuple[Apply, ...]:
    """Writes the endpoint into the spec, where Cluster API reads it. A user's value is kept."""
    if not found or _given(seen):
        return ()
    return completed(KIND, seen.obj, {"controlPlaneEndpoint": dict(found)})


def held(seen: Observed, status: Mapping[str, Any]) -> Unusable | None:
    """Why the floating IP must not be attached to this cluster; None if it is or may be attached.

    Its port may belong to a restored machine that has not recorded its ports yet. Then the result is None if the spec
    has a host; without a host, no endpoint is written before the port is known.
    """
    address = _address(seen, status)
    if address is None:
        return None
    unknown = not address.mark and any(_is_unknown(seen, machine) for machine in _control_plane(seen))
    return None if unknown and _given(seen) else _kept_away(seen, address)


def attach_endpoint(seen: Observed, owner: Owner, status: Mapping[str, Any]) -> tuple[CloudCall, ...]:
    """Attaches the floating IP to the first ready machine, unless its present machine is ready."""
    address = _address(seen, status)
    ports = [port for port in (first_port(seen.servers.get(name)) for name in _ready(seen)) if port]
    if address is None or not ports or address.facts.get("port_id", ports[0]) in ports or _kept_away(seen, address):
        return ()
    return (owner.call("update", API, id=address.id, body={"port_id": ports[0]}, why="attached to the API server"),)


def _given(seen: Observed) -> str:
    """The host in the spec, which a user or the operator wrote."""
    return str((seen.spec.get("controlPlaneEndpoint") or {}).get("host") or "")


def _address(seen: Observed, status: Mapping[str, Any]) -> CloudResource | None:
    id_ = str((status.get("apiServerFloatingIP") or {}).get("id") or "")
    return seen.view.get(API, id_) if seen.view and id_ else None


def _at_bastion(seen: Observed, status: Mapping[str, Any]) -> bool:
    address = _address(seen, status)
    return address is not None and address.facts.get("port_id") in {*ports_of(seen.bastion)}


def _kept_away(seen: Observed, address: CloudResource) -> Unusable | None:
    servers = (seen.servers.get(machine["metadata"]["name"]) for machine in seen.machines)
    ports = {port for server in servers for port in ports_of(server)}
    return why_unusable(address, is_of(address, seen.identity, record_of(seen.status)), ports, "cluster")


def _is_unknown(seen: Observed, machine: Object) -> bool:
    """Whether the machine has a server whose ports are not recorded."""
    return bool(machine["spec"].get("providerID")) and not first_port(seen.servers.get(machine["metadata"]["name"]))


def _ready(seen: Observed) -> list[str]:
    """Names of the ready control-plane machines."""
    return [
        machine["metadata"]["name"]
        for machine in _control_plane(seen)
        if (machine.get("status") or {}).get("ready") and not is_deleting(machine)
    ]


def _control_plane(seen: Observed) -> Iterator[Object]:
    return (each for each in seen.machines if CONTROL_PLANE in (each["metadata"].get("labels") or {}))


def first_port(server: Object | None) -> str:
    """Id of the port that is first in the server's spec, or empty while it is not recorded.

    The record has the order of creation and adoption. Without names, which Cluster API Provider OpenStack omits, it has
    the order of the spec.
    """
    resolved = ((server or {}).get("status") or {}).get("resolved") or {}
    name = next((port["name"] for port in resolved.get("ports") or ()), None)
    ports = list(_records(server))
    return next((str(port["id"]) for wanted in (name, None) for port in ports if port.get("name") == wanted), "")


def ports_of(server: Object | None) -> Iterator[str]:
    """Recorded port ids."""
    return (str(port["id"]) for port in _records(server))


def _records(server: Object | None) -> Iterator[Mapping[str, Any]]:
    resources = ((server or {}).get("status") or {}).get("resources") or {}
    return iter(resources.get("ports") or ())
