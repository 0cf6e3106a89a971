"""One change of one resource → one request, or a few if its API needs them.

The mark is part of the request that creates a resource, in a field that the API stores at once: Nova's tags, Cinder's
metadata, Neutron's descriptions. A port that is a router interface is added and removed by requests to the router.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.tenant.attach import REQUESTS, attach, let_go, one
from stackwright.adapters.openstack.tenant.things import METADATA, OWN
from stackwright.adapters.openstack.transport.send import key_in, send
from stackwright.adapters.openstack.transport.shapes import json_of, thing_in, things_in
from stackwright.api.infra.capi import MARK
from stackwright.core.openstack.clouds import CloudCall, Denied, Trouble, mark
from stackwright.core.openstack.group_rules import meaning

if TYPE_CHECKING:
    from openstack.connection import Connection

TAGGED = ("port", "trunk", "floating-ip", "network", "subnet", "router", "security-group")
# Owners of ports that are router interfaces; distributed and highly available routers use their own names.
INTERFACES = (
    "network:router_interface", "network:router_interface_distributed", "network:ha_router_replicated_interface",
)  # fmt: skip


def run(connection: Connection, call: CloudCall, user_data: bytes | None) -> tuple[str, Mapping[str, Any] | None]:
    """Id, and the resource as the API returned it, if it did; the port if a router got an interface.

    None instead of the resource if a deletion was answered with 404: one such answer does not prove absence.
    """
    match call.do:
        case "create":
            return _create(connection, call, user_data)
        case "update":
            return call.id, _update(connection, call)
    return call.id, {} if _delete(connection, call) else None


def _create(connection: Connection, call: CloudCall, user_data: bytes | None) -> tuple[str, Mapping[str, Any]]:
    what, made = call.slot[0], mark(call.uid, call.slot)
    body = dict(call.body)
    tags = list(body.pop("tags", ()))
    hints = body.pop("hints", {})
    if what == "server":
        body["tags"] = [*_unlike_marks(tags), made]
        if user_data is not None:
            body["user_data"] = base64.b64encode(user_data).decode()
    elif what == "volume":
        body["metadata"] = {**body.get("metadata", {}), METADATA: made}
    else:
        body["description"] = f"{body.get('description') or ''} [{made}]".strip()
    wrapped = {key_in(what): body, **({"os:scheduler_hints": hints} if hints else {})}
    try:
        answer = thing_in(send(connection, what, "POST", json=wrapped), key_in(what))
    except Trouble as error:
        if what == "security-group-rule" and error.reason == "Conflict":
            return _same_rule(connection, body, error)
        raise
    if what == "volume":
        answer = {**answer, "metadata": {**body["metadata"], **_own(connection, str(answer["id"]))}}
    if tags and what in TAGGED:
        send(connection, what, "PUT", f"/{answer['id']}/tags", json={"tags": tags})
    return str(answer["id"]), {**answer, "name": body.get("name"), "tags": body.get("tags", tags), **_told(what, body)}


def _unlike_marks(tags: list[str]) -> list[str]:
    """The tags. Raises Denied for a mark: Nova changes the order of tags, so a second mark could replace the first."""
    for tag in filter(MARK.fullmatch, tags):
        raise Denied("Rejected", f"tag {tag} has the reserved form of the operator's marks; choose another tag")
    return tags


def _own(connection: Connection, volume: str) -> dict[str, str]:
    """Write the volume's id into its metadata, which distinguishes it from its copies. Returns what was written.

    A failure is ignored, as the id of the new volume must not be lost; without this field, copies are never deleted.
    """
    own = {OWN: volume}
    try:
        send(connection, "volume", "POST", f"/{volume}/metadata", json={"metadata": own})
    except (Trouble, Denied):
        return {}
    return own


def _same_rule(connection: Connection, body: Mapping[str, Any], error: Trouble) -> tuple[str, Mapping[str, Any]]:
    """The existing rule of the same meaning: Neutron adds two rules to a new group and accepts no duplicate."""
    params = {"security_group_id": body["security_group_id"]}
    answer = json_of(send(connection, "security-group-rule", "GET", params=params))
    for rule in things_in(answer, "security_group_rules"):
        if meaning(rule) == meaning(body):
            return str(rule["id"]), rule
    raise error


def _told(what: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that the response lacks: Nova returns little more than an id."""
    return {"status": "BUILD", "metadata": body.get("metadata", {})} if what == "server" else {}


def _update(connection: Connection, call: CloudCall) -> Mapping[str, Any]:
    what, body = call.slot[0], dict(call.body)
    if added := next((name for name in REQUESTS if name in body), ""):
        return attach(connection, call.id, added, body[added])
    if "tags" in body:
        tags = body.pop("tags")
        if what == "server":
            tags = [*_unlike_marks(tags), mark(call.uid, call.slot)]
        send(connection, what, "PUT", f"/{call.id}/tags", json={"tags": tags})
    if what == "server" and "metadata" in body:
        send(connection, what, "POST", f"/{call.id}/metadata", json={"metadata": body.pop("metadata")})
    if not body:
        return {}
    return thing_in(send(connection, what, "PUT", f"/{call.id}", json={key_in(what): body}), key_in(what))


def _delete(connection: Connection, call: CloudCall) -> bool:
    """Delete the resource. Returns False if the API answered 404."""
    what = call.slot[0]
    try:
        if what == "router":
            _leave_subnets(connection, call.id)
        send(connection, what, "DELETE", f"/{call.id}")
    except (Trouble, Denied) as error:
        if what == "port" and error.reason == "Conflict":
            _remove_interface(connection, call.id, error)
        elif what == "volume" and error.reason == "BlockedRejected" and let_go(connection, call.id):
            send(connection, what, "DELETE", f"/{call.id}")
        elif error.reason == "NotFound":
            return False
        else:
            raise
    return True


def _remove_interface(connection: Connection, port: str, error: Trouble | Denied) -> None:
    """Neutron detaches such a port only by a request to its router, whoever owns that, and then deletes the port."""
    found = one(connection, "port", port)
    if found.get("device_owner") not in INTERFACES:
        raise error
    send(connection, "router", "PUT", f"/{found.get('device_id')}/remove_router_interface", json={"port_id": port})


def _leave_subnets(connection: Connection, router: str) -> None:
    answer = json_of(send(connection, "port", "GET", params={"device_id": router}))
    for port in things_in(answer, "ports"):
        if port.get("device_owner") in INTERFACES:
            send(connection, "router", "PUT", f"/{router}/remove_router_interface", json={"port_id": port["id"]})
