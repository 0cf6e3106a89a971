"""One change of one thing → one request, or the few that it takes; and what an answer means.

The mark goes with the request that makes a thing, to where its API can keep it at once: Nova's tags, Cinder's
metadata, Neutron's descriptions.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack_things import METADATA
from stackwright.core.clouds import CloudCall, Denied, Trouble, mark

if TYPE_CHECKING:
    from openstack.connection import Connection
    from requests import Response

COMPUTE = "2.60"  # tags with the request that makes a server: 2.52; volumes that several servers attach: 2.60
PATHS = {
    "server": ("compute", "/servers"),
    "volume": ("block_storage", "/volumes"),
    "port": ("network", "/ports"),
    "trunk": ("network", "/trunks"),
    "floating-ip": ("network", "/floatingips"),
    "network": ("network", "/networks"),
    "subnet": ("network", "/subnets"),
    "router": ("network", "/routers"),
    "security-group": ("network", "/security-groups"),
    "security-group-rule": ("network", "/security-group-rules"),
}
QUOTA = ("quota", "limitexceeded", "limit exceeded", "maximum number of")
TAGGED = ("port", "trunk", "floating-ip", "network", "subnet", "router", "security-group")


def run(connection: Connection, call: CloudCall, user_data: bytes | None) -> tuple[str, Mapping[str, Any]]:
    """The id, and the thing as the API told it, if it did."""
    match call.do:
        case "create":
            return _create(connection, call, user_data)
        case "update":
            return call.id, _update(connection, call)
    _delete(connection, call)
    return call.id, {}


def send(connection: Connection, what: str, method: str, path: str = "", **more: Any) -> Response:
    """Raises Trouble or Denied for every answer that is no success."""
    service, base = PATHS[what]
    if service == "compute":
        more["microversion"] = COMPUTE
    proxy: Any = getattr(connection, service)
    response: Response = proxy.request(f"{base}{path}", method, **more)
    if response.status_code >= 400:
        raise problem(response.status_code, text_of(response), str(response.headers.get("Retry-After") or ""))
    return response


def _create(connection: Connection, call: CloudCall, user_data: bytes | None) -> tuple[str, Mapping[str, Any]]:
    what, made = call.slot[0], mark(call.uid, call.slot)
    body = dict(call.body)
    tags = list(body.pop("tags", ()))
    hints = body.pop("hints", {})
    if what == "server":
        body["tags"] = [*tags, made]
        if user_data is not None:
            body["user_data"] = base64.b64encode(user_data).decode()
    elif what == "volume":
        body["metadata"] = {**body.get("metadata", {}), METADATA: made}
    else:
        body["description"] = f"{body.get('description') or ''} [{made}]".strip()
    wrapped = {_key(what): body, **({"os:scheduler_hints": hints} if hints else {})}
    answer = dict(send(connection, what, "POST", json=wrapped).json()[_key(what)])
    if tags and what in TAGGED:
        send(connection, what, "PUT", f"/{answer['id']}/tags", json={"tags": tags})
    return str(answer["id"]), {**answer, "name": body.get("name"), "tags": body.get("tags", tags), **_told(what, body)}


def _told(what: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Nova answers with little more than an id."""
    return {"status": "BUILD", "metadata": body.get("metadata", {})} if what == "server" else {}


def _update(connection: Connection, call: CloudCall) -> Mapping[str, Any]:
    what, body = call.slot[0], dict(call.body)
    if "tags" in body:
        tags = body.pop("tags")
        keep = [mark(call.uid, call.slot)] if what == "server" else []
        send(connection, what, "PUT", f"/{call.id}/tags", json={"tags": [*tags, *keep]})
    if what == "server" and "metadata" in body:
        send(connection, what, "POST", f"/{call.id}/metadata", json={"metadata": body.pop("metadata")})
    if not body:
        return {}
    return dict(send(connection, what, "PUT", f"/{call.id}", json={_key(what): body}).json()[_key(what)])


def _delete(connection: Connection, call: CloudCall) -> None:
    what = call.slot[0]
    try:
        if what == "router":
            _leave_subnets(connection, call.id)
        send(connection, what, "DELETE", f"/{call.id}")
    except Trouble as error:
        if error.reason != "NotFound":
            raise


def _leave_subnets(connection: Connection, router: str) -> None:
    params = {"device_id": router, "device_owner": "network:router_interface"}
    for port in send(connection, "port", "GET", params=params).json()["ports"]:
        send(connection, "router", "PUT", f"/{router}/remove_router_interface", json={"port_id": port["id"]})


def _key(what: str) -> str:
    return {"floating-ip": "floatingip"}.get(what, what.replace("-", "_"))


def text_of(response: Response) -> str:
    """What the service says, in a line: the message in an envelope that each of them names in its own way."""
    try:
        found: Any = response.json()
    except ValueError:
        return " ".join(response.text.split())[:300]
    while isinstance(found, dict) and found:
        found = found.get("message") or found.get("detail") or next(iter(found.values()))
    return " ".join(str(found).split())[:300]


def problem(status: int, text: str, retry_after: str = "") -> Trouble | Denied:
    """What an answer that is no success means."""
    words = text.lower().replace(" ", "")
    after = float(retry_after) if retry_after.isdigit() else None
    if status in (403, 409, 413) and any(word.replace(" ", "") in words for word in QUOTA):
        return Trouble("QuotaExceeded", f"HTTP {status}: {text}", after or 30.0)
    match status:
        case 401:
            return Trouble("AuthenticationFailed", f"HTTP 401: {text}")
        case 404:
            return Trouble("NotFound", f"HTTP 404: {text}")
        case 409:
            return Trouble("Conflict", f"HTTP 409: {text}")
        case 413 | 429:
            return Trouble("RateLimited", f"HTTP {status}: {text}", after or 10.0)
        case 403:
            return Denied("Forbidden", f"HTTP 403: {text}")
    if status >= 500 or status == 408:
        return Trouble("ServerError", f"HTTP {status}: {text}", after)
    return Denied("Rejected", f"HTTP {status}: {text}")
