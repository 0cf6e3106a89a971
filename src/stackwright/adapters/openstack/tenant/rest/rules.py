"""The hooks of `rest_types`: further requests that the APIs of some types require for a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.tenant.rest.attach import delete_stale_attachments, one_port
from stackwright.adapters.openstack.tenant.rest.resource_facts import OWN
from stackwright.adapters.openstack.transport.send import request, succeeds
from stackwright.adapters.openstack.transport.shapes import Port, json_of, resources_in
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.group_rules import meaning

if TYPE_CHECKING:
    from openstack.connection import Connection

Raw = Mapping[str, Any]
# Owners of ports that are router interfaces; distributed and highly available routers use their own names.
INTERFACES = (
    "network:router_interface", "network:router_interface_distributed", "network:ha_router_replicated_interface",
)  # fmt: skip


def building(connection: Connection, body: Raw, answer: Raw) -> Raw:
    """Fields of a new server that the response lacks: Nova returns little more than an id."""
    return {"status": "BUILD", "metadata": body.get("metadata", {})}


def with_own_id(connection: Connection, body: Raw, answer: Raw) -> Raw:
    """Write the volume's id into its metadata, which distinguishes it from its copies.

    A failure is ignored; without this field, copies are never deleted.
    """
    own, path = {OWN: str(answer["id"])}, f"/volumes/{answer['id']}/metadata"
    if not succeeds(lambda: request(connection, "block_storage", "POST", path, json={"metadata": own})):
        own = {}
    return {"metadata": {**body["metadata"], **own}}


def same_rule(connection: Connection, body: Raw) -> Raw | None:
    """The equivalent rule that exists: Neutron adds two rules to a new group and accepts no duplicate."""
    params = {"security_group_id": body["security_group_id"]}
    answer = json_of(request(connection, "network", "GET", "/security-group-rules", params=params))
    rules = resources_in(answer, "security_group_rules")
    return next((rule for rule in rules if meaning(rule) == meaning(body)), None)


def leave_subnets(connection: Connection, router: str) -> None:
    """Detach a router from all subnets: Neutron deletes no router with interfaces."""
    answer = json_of(request(connection, "network", "GET", "/ports", params={"device_id": router}))
    for port in resources_in(answer, "ports", Port):
        if port.get("device_owner") in INTERFACES:
            _remove_interface(connection, router, port["id"])


def remove_interface(connection: Connection, port: str, error: TransientCloudError | TerminalCloudError) -> bool:
    """Delete a router interface, of any owner: only a request to its router is accepted by Neutron."""
    if error.cause is not Reason.CONFLICT:
        raise error
    found = one_port(connection, port)
    if found.get("device_owner") not in INTERFACES:
        raise error
    _remove_interface(connection, found.get("device_id"), port)
    return False


def _remove_interface(connection: Connection, router: Any, port: str) -> None:
    request(connection, "network", "PUT", f"/routers/{router}/remove_router_interface", json={"port_id": port})


def detach_from_gone(connection: Connection, volume: str, error: TransientCloudError | TerminalCloudError) -> bool:
    """Whether the volume can be deleted now, because it was attached to servers that no longer exist."""
    if error.cause is Reason.REJECTED and delete_stale_attachments(connection, volume):
        return True
    raise error
