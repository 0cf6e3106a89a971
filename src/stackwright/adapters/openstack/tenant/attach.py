"""Attachments: ports to routers, ports and volumes to servers. Each call returns the resource as it is afterwards.

An attachment is a request of its own, not a field of a resource. An existing attachment is no error: the request may
have been carried out after the process that sent it died.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.transport.send import key_in, send
from stackwright.adapters.openstack.transport.shapes import json_of, thing_in, things_in
from stackwright.core.openstack.clouds import ADD_INTERFACE, ADD_PORT, ADD_VOLUME, Denied, Trouble

if TYPE_CHECKING:
    from openstack.connection import Connection


def attach(connection: Connection, id_: str, what: str, other: str) -> Mapping[str, Any]:
    """Attach `other` to the router or server `id_`; `what` is a key of REQUESTS. Returns the port or the server."""
    return REQUESTS[what](connection, id_, other)


def _interface(connection: Connection, router: str, port: str) -> Mapping[str, Any]:
    try:
        send(connection, "router", "PUT", f"/{router}/add_router_interface", json={"port_id": port})
    except Trouble as error:
        if error.reason != "Conflict" or one(connection, "port", port).get("device_id") != router:
            raise
    return one(connection, "port", port)


def _port(connection: Connection, server: str, port: str) -> Mapping[str, Any]:
    try:
        send(connection, "server", "POST", f"/{server}/os-interface", json={"interfaceAttachment": {"port_id": port}})
    except (Trouble, Denied):
        if one(connection, "port", port).get("device_id") != server:
            raise
    return one(connection, "server", server)


def _volume(connection: Connection, server: str, volume: str) -> Mapping[str, Any]:
    body = {"volumeAttachment": {"volumeId": volume}}
    try:
        send(connection, "server", "POST", f"/{server}/os-volume_attachments", json=body)
    except (Trouble, Denied):
        found = one(connection, "server", server)
        if volume not in {each["id"] for each in found.get("os-extended-volumes:volumes_attached", ())}:
            raise
        return found
    return one(connection, "server", server)


def let_go(connection: Connection, volume: str) -> bool:
    """Delete attachments of the volume to servers that no longer exist. Returns whether there was one.

    Nova leaves one behind when a server is deleted at a certain moment of its build.
    """
    answer = json_of(send(connection, "attachment", "GET", params={"volume_id": volume}))
    listed = things_in(answer, "attachments")
    held = [each for each in listed if each.get("volume_id") == volume and each.get("instance")]
    left = [each for each in held if not _exists(connection, each["instance"])]
    for each in left:
        send(connection, "attachment", "DELETE", f"/{each['id']}")
    return bool(left)


def _exists(connection: Connection, server: str) -> bool:
    try:
        return bool(one(connection, "server", server))
    except Trouble as error:
        if error.reason != "NotFound":
            raise
        return False


def one(connection: Connection, what: str, id_: str) -> dict[str, Any]:
    """The resource as its API returns it."""
    return thing_in(send(connection, what, "GET", f"/{id_}"), key_in(what))


REQUESTS: Mapping[str, Callable[[Connection, str, str], Mapping[str, Any]]] = {
    ADD_INTERFACE: _interface,
    ADD_PORT: _port,
    ADD_VOLUME: _volume,
}
