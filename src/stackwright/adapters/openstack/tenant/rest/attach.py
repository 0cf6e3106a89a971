"""Attachments: ports to routers, ports and volumes to servers. Each call returns the resource as it is after the call.

An attachment is a request of its own, not a field of a resource. An existing attachment is not an error: an earlier
process may have sent the request and ended before the response.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.tenant.absence import CONFIRM
from stackwright.adapters.openstack.transport.send import COMPUTE, request, state_of
from stackwright.adapters.openstack.transport.shapes import Port, json_of, resource_in, resources_in
from stackwright.core.openstack.calls import ADD_INTERFACE, ADD_PORT, ADD_VOLUME
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError

if TYPE_CHECKING:
    from openstack.connection import Connection
    from requests import Response

ATTACHMENTS = "3.27"  # microversion of Cinder that introduced its attachments


def attach(connection: Connection, id_: str, what: str, other: str) -> Mapping[str, Any]:
    """Attach `other` to the router or server `id_`; `what` is a key of REQUESTS. Returns the port or the server."""
    return REQUESTS[what](connection, id_, other)


def _interface(connection: Connection, router: str, port: str) -> Mapping[str, Any]:
    try:
        request(connection, "network", "PUT", f"/routers/{router}/add_router_interface", json={"port_id": port})
    except TransientCloudError as error:
        if error.cause is not Reason.CONFLICT or one_port(connection, port).get("device_id") != router:
            raise
    return one_port(connection, port)


def _port(connection: Connection, server: str, port: str) -> Mapping[str, Any]:
    try:
        _attach(connection, f"/servers/{server}/os-interface", {"interfaceAttachment": {"port_id": port}})
    except (TransientCloudError, TerminalCloudError):
        if one_port(connection, port).get("device_id") != server:
            raise
    return one_server(connection, server)


def _volume(connection: Connection, server: str, volume: str) -> Mapping[str, Any]:
    body = {"volumeAttachment": {"volumeId": volume}}
    try:
        _attach(connection, f"/servers/{server}/os-volume_attachments", body)
    except (TransientCloudError, TerminalCloudError):
        found = one_server(connection, server)
        if volume not in {each["id"] for each in found.get("os-extended-volumes:volumes_attached", ())}:
            raise
        return found
    return one_server(connection, server)


def delete_stale_attachments(connection: Connection, volume: str) -> bool:
    """Delete attachments of the volume to servers that no longer exist. Returns whether one existed.

    Nova leaves one behind when a server is deleted at a certain stage of its build. Raises TransientCloudError while
    the absence of a server is not proven.
    """
    listed = resources_in(json_of(_attachments(connection, "GET", params={"volume_id": volume})), "attachments")
    held = [each for each in listed if each.get("volume_id") == volume and each.get("instance")]
    missing = {each["id"]: seconds for each in held if (seconds := _missing_for(connection, each)) is not None}
    if any(seconds < CONFIRM for seconds in missing.values()):
        text = "The volume is attached to a server that Nova did not find; a second response must confirm this"
        raise TransientCloudError(Reason.CONFLICT, text, CONFIRM)
    for id_ in missing:
        _attachments(connection, "DELETE", f"/{id_}")
        state_of(connection).first_404.pop(id_, None)
    return bool(missing)


def _missing_for(connection: Connection, attachment: Mapping[str, Any]) -> float | None:
    """Seconds since the first 404 for the server of an attachment; None if the server exists."""
    first, began = state_of(connection).first_404, time.monotonic()
    try:
        one_server(connection, attachment["instance"])
    except TransientCloudError as error:
        if error.cause is not Reason.NOT_FOUND:
            raise
        return began - first.setdefault(attachment["id"], began)
    first.pop(attachment["id"], None)
    return None


def _attach(connection: Connection, path: str, body: Mapping[str, Any]) -> None:
    request(connection, "compute", "POST", path, json=body, microversion=COMPUTE)


def _attachments(connection: Connection, method: str, path: str = "", **more: Any) -> Response:
    return request(connection, "block_storage", method, f"/attachments{path}", microversion=ATTACHMENTS, **more)


def one_port(connection: Connection, id_: str) -> dict[str, Any]:
    return resource_in(request(connection, "network", "GET", f"/ports/{id_}"), "port", Port)


def one_server(connection: Connection, id_: str) -> dict[str, Any]:
    return resource_in(request(connection, "compute", "GET", f"/servers/{id_}", microversion=COMPUTE), "server")


REQUESTS: Mapping[str, Callable[[Connection, str, str], Mapping[str, Any]]] = {
    ADD_INTERFACE: _interface,
    ADD_PORT: _port,
    ADD_VOLUME: _volume,
}
