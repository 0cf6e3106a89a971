"""Executes one change of a resource by one request, or by several if its API requires them.

The mark is part of the request that creates a resource, in a field that the API stores at once: Nova's tags, Cinder's
metadata, Neutron's descriptions.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.tenant.rest.attach import REQUESTS, attach
from stackwright.adapters.openstack.tenant.rest.rest_types import REST, send
from stackwright.adapters.openstack.transport.send import succeeds
from stackwright.adapters.openstack.transport.shapes import resource_in
from stackwright.api.fields.mark import METADATA_KEY, unlike_marks
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import mark

if TYPE_CHECKING:
    from openstack.connection import Connection


def run(connection: Connection, call: CloudCall, user_data: bytes | None) -> tuple[str, Mapping[str, Any] | None]:
    """Returns the id, and the resource as the API returned it, if it did; the port if a router got an interface.

    The resource is None if a deletion got 404: one such response does not prove absence.
    """
    match call.do:
        case "create":
            return _create(connection, call, user_data)
        case "update":
            return call.id, _update(connection, call)
    return call.id, {} if _delete(connection, call) else None


def _create(connection: Connection, call: CloudCall, user_data: bytes | None) -> tuple[str, Mapping[str, Any]]:
    """Create the resource. An error is that of the first request: after it, none may lose the id (`succeeds`)."""
    what, body = call.resource_key[0], dict(call.body)
    rest, tags, hints = REST[what], list(body.pop("tags", ())), body.pop("hints", {})
    _mark(body, tags, call)
    if user_data is not None:
        body["user_data"] = base64.b64encode(user_data).decode()
    wrapped = {rest.key: body, **({"os:scheduler_hints": hints} if hints else {})}
    try:
        answer = resource_in(send(connection, what, "POST", json=wrapped), rest.key, rest.shape)
    except TransientCloudError as error:
        if error.cause is Reason.CONFLICT and (same := rest.same(connection, body)):
            return str(same["id"]), same
        raise
    if tags and "tags" not in body and "tags" in rest.apart:
        method, path, wanted = rest.apart["tags"], f"/{answer['id']}/tags", {"tags": tags}
        if not succeeds(lambda: send(connection, what, method, path, json=wanted)):
            tags = []  # they are restored like tags that another client removed
    fields = {"name": body.get("name"), "tags": body.get("tags", tags), **rest.created(connection, body, answer)}
    return str(answer["id"]), {**answer, **fields}


def _mark(body: dict[str, Any], tags: list[str], call: CloudCall) -> None:
    """Write the mark into the body of a create request."""
    made = mark(call.uid, call.resource_key)
    match TYPES[call.resource_key[0]].mark:
        case "tags":
            body["tags"] = [*_unlike_marks(tags), made]
        case "metadata":
            body["metadata"] = {**body.get("metadata", {}), METADATA_KEY: made}
        case "description":
            body["description"] = f"{body.get('description') or ''} [{made}]".strip()


def _unlike_marks(tags: list[str]) -> list[str]:
    try:
        return unlike_marks(tags)
    except ValueError as error:
        raise TerminalCloudError(Reason.REJECTED, f"tag {error}; choose another tag") from None


def _update(connection: Connection, call: CloudCall) -> Mapping[str, Any]:
    what, body = call.resource_key[0], dict(call.body)
    if added := next((name for name in REQUESTS if name in body), ""):
        return attach(connection, call.id, added, body[added])
    rest = REST[what]
    for field, method in rest.apart.items():
        if field in body:
            value = body.pop(field)
            if field == TYPES[what].mark == "tags":
                value = [*_unlike_marks(value), mark(call.uid, call.resource_key)]
            send(connection, what, method, f"/{call.id}/{field}", json={field: value})
    if not body:
        return {}
    return resource_in(send(connection, what, "PUT", f"/{call.id}", json={rest.key: body}), rest.key, rest.shape)


def _delete(connection: Connection, call: CloudCall) -> bool:
    """Delete the resource. Returns False if the API returned 404."""
    what, rest = call.resource_key[0], REST[call.resource_key[0]]
    try:
        rest.before(connection, call.id)
        send(connection, what, "DELETE", f"/{call.id}")
    except (TransientCloudError, TerminalCloudError) as error:
        if error.cause is Reason.NOT_FOUND:
            return False
        if rest.refused is None:
            raise
        if rest.refused(connection, call.id, error):
            send(connection, what, "DELETE", f"/{call.id}")
    return True
